//! Which neighbours have an agent, as far as has been heard.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Slab;
use lasthop_packet::Instant;

/// Neighbours of which it is remembered at most that they have an agent.
const MOST: usize = 1024;

/// The neighbours that have announced an agent, and when each did so last. That is forgotten after a
/// time, and where there are too many, of the one that was heard longest ago.
#[derive(Debug)]
pub(super) struct Neighbours {
    heard: Slab<Instant, (), 1, IpAddr>,
    lifetime: Duration,
}

impl Neighbours {
    /// None yet; what is heard of one holds for a time.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { heard: Slab::new(), lifetime }
    }

    /// Octets of memory that they take.
    pub(super) const fn octets(&self) -> usize {
        self.heard.octets()
    }

    /// A neighbour announces its agent. Only one that is new costs more than a look-up.
    /// Where there is no memory for another, among the `room` octets that may be taken, nothing is noted.
    pub(super) fn on_announcement(&mut self, neighbour: IpAddr, room: usize, now: Instant) {
        if let Some(slot) = self.heard.find(neighbour) {
            self.heard.touch(slot, (), now);
            if let Some(heard) = self.heard.get_mut(slot) {
                *heard = now;
            }
            return;
        }
        while let Some(idlest) = self.heard.idlest(()) {
            let is_over = self.heard.get(idlest).is_none_or(|heard| now.since(*heard) >= self.lifetime);
            if !is_over && self.heard.len() < MOST {
                break;
            }
            self.heard.remove(idlest);
        }
        let most = self.heard.most_within(MOST, room);
        if self.heard.len() >= most {
            return;
        }
        self.heard.make_room(most);
        self.heard.insert(neighbour, now, (), now);
    }

    /// A neighbour shows that it has none.
    pub(super) fn forget(&mut self, neighbour: IpAddr) {
        if let Some(slot) = self.heard.find(neighbour) {
            self.heard.remove(slot);
        }
    }

    /// Whether a neighbour announced an agent not long ago.
    pub(super) fn has_agent(&self, neighbour: IpAddr, now: Instant) -> bool {
        let heard = self.heard.find(neighbour).and_then(|slot| self.heard.get(slot));
        heard.is_some_and(|heard| now.since(*heard) < self.lifetime)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn neighbour(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn the_neighbour_that_was_heard_longest_ago_makes_room() {
        let mut neighbours = Neighbours::new(Duration::from_secs(1_000_000));
        for number in 0..MOST as u32 {
            neighbours.on_announcement(neighbour(number), usize::MAX, Instant::from_secs(number.into()));
        }
        neighbours.on_announcement(neighbour(0), usize::MAX, Instant::from_secs(2000));
        let now = Instant::from_secs(2001);
        neighbours.on_announcement(neighbour(5000), usize::MAX, now);
        let known = [0, 1, 2, 5000].map(|number| neighbours.has_agent(neighbour(number), now));
        assert_eq!((known, neighbours.heard.len()), ([true, false, true, true], MOST));
    }

    #[test]
    fn one_that_was_heard_too_long_ago_goes_when_another_comes() {
        let mut neighbours = Neighbours::new(Duration::from_secs(600));
        for number in 0..500 {
            neighbours.on_announcement(neighbour(number), usize::MAX, Instant::from_secs(number.into()));
        }
        neighbours.on_announcement(neighbour(5000), usize::MAX, Instant::from_secs(1000));
        assert_eq!(neighbours.heard.len(), 100, "those of the last 600 s");
        assert!(!neighbours.has_agent(neighbour(400), Instant::from_secs(1000)));
        assert!(neighbours.has_agent(neighbour(401), Instant::from_secs(1000)));
    }

    #[test]
    fn many_neighbours_take_bounded_memory() {
        let mut neighbours = Neighbours::new(Duration::from_secs(600));
        for number in 0..100_000 {
            neighbours.on_announcement(neighbour(number), usize::MAX, Instant::from_secs(1));
        }
        assert!(neighbours.heard.octets() <= 128 * MOST, "{} octets", neighbours.heard.octets());
    }
}
