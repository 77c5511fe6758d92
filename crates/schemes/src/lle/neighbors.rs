//! Which neighbors have an agent, as far as is known.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Slab;
use lasthop_packet::Instant;

/// The maximum number of remembered neighbors.
const MAX_NEIGHBORS: usize = 1024;

/// The neighbors that have announced an agent, and when each last did so. An entry expires after a
/// time; if there are too many, the oldest is removed.
#[derive(Debug)]
pub(super) struct Neighbors {
    entries: Slab<Instant, (), 1, IpAddr>,
    lifetime: Duration,
}

impl Neighbors {
    /// An empty list whose entries expire after `lifetime`.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { entries: Slab::new(), lifetime }
    }

    /// Octets of allocated memory.
    pub(super) const fn octets(&self) -> usize {
        self.entries.octets()
    }

    /// Records that a neighbor announced its agent. Only a new neighbor costs more than a look-up.
    /// If the `room` octets of memory do not suffice for it, it is not recorded.
    pub(super) fn on_announcement(&mut self, neighbor: IpAddr, room: usize, now: Instant) {
        if let Some(slot) = self.entries.find(neighbor) {
            self.entries.touch(slot, (), now);
            if let Some(announced) = self.entries.get_mut(slot) {
                *announced = now;
            }
            return;
        }
        while let Some(idlest) = self.entries.idlest(()) {
            let is_over =
                self.entries.get(idlest).is_none_or(|announced| now.since(*announced) >= self.lifetime);
            if !is_over && self.entries.len() < MAX_NEIGHBORS {
                break;
            }
            self.entries.remove(idlest);
        }
        let max = self.entries.max_within(MAX_NEIGHBORS, room);
        if self.entries.len() >= max {
            return;
        }
        self.entries.make_room(max);
        self.entries.insert(neighbor, now, (), now);
    }

    /// Removes a neighbor that has no agent.
    pub(super) fn forget(&mut self, neighbor: IpAddr) {
        if let Some(slot) = self.entries.find(neighbor) {
            self.entries.remove(slot);
        }
    }

    /// Whether a neighbor has recently announced an agent.
    pub(super) fn has_agent(&self, neighbor: IpAddr, now: Instant) -> bool {
        let announced = self.entries.find(neighbor).and_then(|slot| self.entries.get(slot));
        announced.is_some_and(|announced| now.since(*announced) < self.lifetime)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn neighbor(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn the_oldest_neighbor_is_evicted() {
        let mut neighbors = Neighbors::new(Duration::from_secs(1_000_000));
        for number in 0..MAX_NEIGHBORS as u32 {
            neighbors.on_announcement(neighbor(number), usize::MAX, Instant::from_secs(number.into()));
        }
        neighbors.on_announcement(neighbor(0), usize::MAX, Instant::from_secs(2000));
        let now = Instant::from_secs(2001);
        neighbors.on_announcement(neighbor(5000), usize::MAX, now);
        let known = [0, 1, 2, 5000].map(|number| neighbors.has_agent(neighbor(number), now));
        assert_eq!((known, neighbors.entries.len()), ([true, false, true, true], MAX_NEIGHBORS));
    }

    #[test]
    fn an_expired_neighbor_is_evicted_for_a_new_one() {
        let mut neighbors = Neighbors::new(Duration::from_secs(600));
        for number in 0..500 {
            neighbors.on_announcement(neighbor(number), usize::MAX, Instant::from_secs(number.into()));
        }
        neighbors.on_announcement(neighbor(5000), usize::MAX, Instant::from_secs(1000));
        assert_eq!(neighbors.entries.len(), 100, "those of the last 600 s");
        assert!(!neighbors.has_agent(neighbor(400), Instant::from_secs(1000)));
        assert!(neighbors.has_agent(neighbor(401), Instant::from_secs(1000)));
    }

    #[test]
    fn many_neighbors_take_bounded_memory() {
        let mut neighbors = Neighbors::new(Duration::from_secs(600));
        for number in 0..100_000 {
            neighbors.on_announcement(neighbor(number), usize::MAX, Instant::from_secs(1));
        }
        assert!(neighbors.entries.octets() <= 128 * MAX_NEIGHBORS, "{} octets", neighbors.entries.octets());
    }
}
