//! The order in which connections send where more data waits than a window has room for.

use std::collections::VecDeque;
use std::net::IpAddr;

use lasthop_agent::Lookup;
use lasthop_packet::FlowKey;

/// The connections that wait for room. The hosts take turns, and so do the connections of each
/// host: a host gets no more by opening more connections.
#[derive(Debug, Default)]
pub struct Turns {
    /// The connections of the host whose turn it is, the next one first; empty only if none waits.
    line: VecDeque<FlowKey>,
    /// Allocated for the second waiting host: a hop to a single host does not need it.
    others: Option<Box<Others>>,
    len: usize,
}

/// The hosts that wait for their turn.
#[derive(Debug, Default)]
struct Others {
    /// In order of their turns.
    hosts: VecDeque<IpAddr>,
    /// The connections of each of them, in order of their turns. No line is empty.
    lines: Lookup<IpAddr, VecDeque<FlowKey>>,
    /// The total capacity of these lines, in connections.
    capacity: usize,
    /// An empty line, kept for its memory: a single connection often starts and stops waiting.
    spare: VecDeque<FlowKey>,
}

/// Capacity of a line once a connection waits in it.
const INITIAL: usize = 4;
/// An empty line with more capacity than this is freed.
const MAX_KEPT: usize = 32;

impl Turns {
    /// Octets of allocated memory, but at least the memory that the first waiting connection takes.
    pub fn memory(&self) -> usize {
        let line = self.line.capacity().max(INITIAL) * size_of::<FlowKey>();
        line + self.others.as_ref().map_or(0, |others| size_of::<Others>() + others.memory())
    }

    /// The number of waiting connections.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no connection waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The divisor of the hop's rate for a connection of this host.
    pub(super) fn sharers(&self, host: IpAddr) -> usize {
        let others = self.others.as_ref();
        let of_host = match others.and_then(|others| others.lines.get(&host)) {
            None if self.is_turn_of(host) => self.line.len(),
            line => line.map_or(0, VecDeque::len),
        };
        let hosts = usize::from(!self.line.is_empty()) + others.map_or(0, |others| others.hosts.len());
        hosts.max(1) * of_host.max(1)
    }

    /// The connection whose turn it is.
    pub fn next(&self) -> Option<FlowKey> {
        self.line.front().copied()
    }

    /// Adds a waiting connection, after the others of its host.
    pub fn wait(&mut self, connection: FlowKey) {
        self.len += 1;
        if self.line.is_empty() || self.is_turn_of(connection.destination.0) {
            self.line.push_back(connection);
        } else {
            self.others.get_or_insert_default().wait(connection);
        }
    }

    /// Removes the connection whose turn it is. The next turn is another host's.
    pub fn take_next(&mut self) -> Option<FlowKey> {
        let next = self.line.pop_front()?;
        self.len -= 1;
        self.advance_to_next_host();
        self.give_back();
        Some(next)
    }

    /// Moves the connection whose turn it is to the end of its line. The next turn is another
    /// host's.
    pub fn pass_on(&mut self) {
        if let Some(next) = self.line.pop_front() {
            self.line.push_back(next);
            self.advance_to_next_host();
        }
    }

    /// Removes a connection that no longer waits.
    pub fn leave(&mut self, connection: FlowKey) {
        if self.is_turn_of(connection.destination.0) {
            let before = self.line.len();
            self.line.retain(|waiting| *waiting != connection);
            self.len -= before - self.line.len();
            if self.line.is_empty() {
                self.advance_to_next_host();
            }
        } else if let Some(others) = &mut self.others {
            self.len -= others.leave(connection);
        }
        self.give_back();
    }

    /// Frees the memory of many connections that no longer wait.
    fn give_back(&mut self) {
        if self.is_empty() && self.line.capacity() > MAX_KEPT {
            self.line = VecDeque::new();
        }
        if self.is_empty() && self.others.as_ref().is_some_and(|others| others.hosts.capacity() > MAX_KEPT) {
            self.others = None;
        }
    }

    /// Removes all connections.
    pub fn clear(&mut self) {
        (self.line, self.others, self.len) = (VecDeque::new(), None, 0);
    }

    fn is_turn_of(&self, host: IpAddr) -> bool {
        self.line.front().is_some_and(|next| next.destination.0 == host)
    }

    fn advance_to_next_host(&mut self) {
        if let Some(others) = &mut self.others {
            others.take_turns(&mut self.line);
        }
    }
}

impl Others {
    /// Octets of allocated memory, in addition to the struct.
    fn memory(&self) -> usize {
        let lines = (self.capacity + self.spare.capacity()) * size_of::<FlowKey>();
        lines + self.hosts.capacity() * size_of::<IpAddr>() + self.lines.octets()
    }

    fn wait(&mut self, connection: FlowKey) {
        let host = connection.destination.0;
        let line = self.lines.get_or_insert_with(host, || std::mem::take(&mut self.spare));
        let is_new = line.is_empty();
        let before = if is_new { 0 } else { line.capacity() };
        if is_new {
            self.hosts.push_back(host);
        }
        line.push_back(connection);
        self.capacity = self.capacity - before + line.capacity();
    }

    /// Replaces this line by that of the first host, and appends it after the others.
    fn take_turns(&mut self, line: &mut VecDeque<FlowKey>) {
        let Some(next) = self.hosts.pop_front().and_then(|host| self.lines.remove(&host)) else { return };
        self.capacity -= next.capacity();
        let before = std::mem::replace(line, next);
        if let Some(host) = before.front().map(|connection| connection.destination.0) {
            self.hosts.push_back(host);
            self.capacity += before.capacity();
            self.lines.insert(host, before);
        } else {
            self.spare = before;
        }
    }

    /// Removes a connection, and returns how many entries that were.
    fn leave(&mut self, connection: FlowKey) -> usize {
        let host = connection.destination.0;
        let Some(line) = self.lines.get_mut(&host) else { return 0 };
        let before = line.len();
        line.retain(|waiting| *waiting != connection);
        let left = before - line.len();
        if line.is_empty() {
            self.spare = self.lines.remove(&host).unwrap_or_default();
            self.capacity -= self.spare.capacity();
            self.hosts.retain(|waiting| *waiting != host);
        }
        left
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
    fn a_connection_that_waits_again_comes_after_the_others() {
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
    fn a_connection_that_passes_its_turn_on_comes_after_the_others() {
        let mut turns = Turns::default();
        for (host, port) in [(1, 11), (1, 12), (2, 21)] {
            turns.wait(connection(host, port));
        }
        let mut served = Vec::new();
        for _ in 0..6 {
            served.push(turns.next().expect("some wait").destination.1);
            turns.pass_on();
        }
        assert_eq!((served, turns.len()), (vec![11, 21, 12, 21, 11, 21], 3));
    }

    #[test]
    fn a_connection_that_left_gets_no_turn() {
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

    /// This would take many hours if the time of a step grew with the number of hosts.
    #[test]
    fn each_of_many_hosts_gets_its_turn() {
        const HOSTS: u32 = 200_000;
        let host =
            |host: u32| FlowKey::tcp(([192, 0, 2, 1].into(), 80), (IpAddr::from(host.to_be_bytes()), 1));
        let mut turns = Turns::default();
        (0..HOSTS).for_each(|number| turns.wait(host(number)));
        for number in (0..HOSTS).chain(0..HOSTS) {
            let next = turns.take_next().expect("all wait");
            assert_eq!(next, host(number));
            turns.wait(next);
        }
        assert_eq!(turns.len(), HOSTS as usize);
    }
}
