//! Whose turn it is where more waits than a window has room for.

use std::collections::VecDeque;
use std::net::IpAddr;

use lasthop_packet::FlowKey;

/// The connections that wait for room. The hosts take turns, and so do the connections of each host:
/// a host gets no more for opening more of them.
#[derive(Debug, Default)]
pub struct Turns {
    /// The hosts, the next one first. None of the lines is empty.
    lines: VecDeque<Line>,
    /// Empty lines, kept for their memory.
    spare: Vec<VecDeque<FlowKey>>,
    len: usize,
}

/// The connections of a host, the next one first.
#[derive(Debug)]
struct Line {
    host: IpAddr,
    connections: VecDeque<FlowKey>,
}

impl Turns {
    /// How many connections wait.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none does.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// By how many the hop's rate is divided for a connection of this host.
    pub fn sharers(&self, host: IpAddr) -> usize {
        let of_host =
            self.lines.iter().find(|line| line.host == host).map_or(0, |line| line.connections.len());
        self.lines.len().max(1) * of_host.max(1)
    }

    /// Whose turn it is.
    pub fn next(&self) -> Option<FlowKey> {
        self.lines.front()?.connections.front().copied()
    }

    /// One more waits, behind the others of its host.
    pub fn wait(&mut self, connection: FlowKey) {
        self.len += 1;
        let host = connection.destination.0;
        if let Some(line) = self.lines.iter_mut().find(|line| line.host == host) {
            line.connections.push_back(connection);
            return;
        }
        let mut connections = self.spare.pop().unwrap_or_default();
        connections.push_back(connection);
        self.lines.push_back(Line { host, connections });
    }

    /// Takes out the one whose turn it is. The next turn is another host's.
    pub fn take_next(&mut self) -> Option<FlowKey> {
        let mut line = self.lines.pop_front()?;
        let next = line.connections.pop_front();
        self.len -= 1;
        if line.connections.is_empty() {
            self.spare.push(line.connections);
        } else {
            self.lines.push_back(line);
        }
        next
    }

    /// Takes out a connection that does not wait any more.
    pub fn leave(&mut self, connection: FlowKey) {
        let host = connection.destination.0;
        let Some(at) = self.lines.iter().position(|line| line.host == host) else { return };
        let Some(line) = self.lines.get_mut(at) else { return };
        let before = line.connections.len();
        line.connections.retain(|waiting| *waiting != connection);
        self.len -= before - line.connections.len();
        if line.connections.is_empty()
            && let Some(line) = self.lines.remove(at)
        {
            self.spare.push(line.connections);
        }
    }

    /// None waits any more.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(host: u8, port: u16) -> FlowKey {
        FlowKey::tcp(([192, 0, 2, 1].into(), 80), ([10, 0, 0, host].into(), port))
    }

    fn ports(turns: &mut Turns) -> Vec<u16> {
        std::iter::from_fn(|| turns.take_next()).map(|taken| taken.destination.1).collect()
    }

    #[test]
    fn hosts_take_turns_and_the_connections_of_each() {
        let mut turns = Turns::default();
        for (host, port) in [(1, 11), (1, 12), (1, 13), (2, 21), (3, 31), (3, 32)] {
            turns.wait(connection(host, port));
        }
        assert_eq!((turns.len(), turns.sharers([10, 0, 0, 3].into())), (6, 6));
        assert_eq!(ports(&mut turns), [11, 21, 31, 12, 32, 13]);
        assert!(turns.is_empty() && turns.next().is_none());
    }

    #[test]
    fn who_waits_again_comes_after_the_others() {
        let mut turns = Turns::default();
        for (host, port) in [(1, 11), (1, 12), (2, 21)] {
            turns.wait(connection(host, port));
        }
        let mut served = Vec::new();
        for _ in 0..6 {
            let next = turns.take_next().expect("some wait");
            served.push(next.destination.1);
            turns.wait(next);
        }
        assert_eq!(served, [11, 21, 12, 21, 11, 21]);
    }

    #[test]
    fn one_that_leaves_is_not_served() {
        let mut turns = Turns::default();
        for (host, port) in [(1, 11), (1, 12), (2, 21)] {
            turns.wait(connection(host, port));
        }
        turns.leave(connection(2, 21));
        turns.leave(connection(1, 11));
        turns.leave(connection(1, 19));
        assert_eq!((turns.len(), turns.sharers([10, 0, 0, 1].into())), (1, 1));
        assert_eq!(ports(&mut turns), [12]);
    }
}
