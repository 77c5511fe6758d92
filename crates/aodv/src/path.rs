//! What was measured of a way, and of a node's own hops: what `metric` goes by.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use lasthop_agent::PathCapacity;
use lasthop_packet::Instant;

/// What was measured of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Of its hops that were measured.
    pub capacity: PathCapacity,
    /// How many these are.
    pub measured: u8,
}

impl Path {
    /// Before the first hop, or where nothing was measured.
    pub const START: Self = Self { capacity: PathCapacity::NOTHING_YET, measured: 0 };

    /// Together with a hop, which was measured or was not.
    pub(super) fn over(self, hop: Option<PathCapacity>) -> Self {
        let Some(hop) = hop else { return self };
        Self { capacity: self.capacity.over(hop), measured: self.measured.saturating_add(1) }
    }

    /// Bandwidth times delay, if all its hops are as those that were measured: in octets, times a
    /// million.
    pub(super) fn product(self, hop_count: u8) -> u128 {
        let PathCapacity { bandwidth, delay } = self.capacity;
        let of_measured = u128::from(bandwidth) * u128::from(delay) * u128::from(hop_count);
        of_measured.checked_div(self.measured.into()).unwrap_or(u128::MAX)
    }
}

/// The hops of a node to its neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Hops {
    measured: BTreeMap<Ipv4Addr, (PathCapacity, Instant)>,
}

impl Hops {
    /// The hop to a neighbour, or else the one that was used last.
    pub(super) fn of(
        &self,
        neighbour: Ipv4Addr,
        is_recent: impl Fn(Instant) -> bool,
    ) -> Option<PathCapacity> {
        let own = self.measured.get(&neighbour).filter(|(_, at)| is_recent(*at));
        let last = || self.measured.values().max_by_key(|(_, at)| *at).filter(|(_, at)| is_recent(*at));
        own.or_else(last).map(|(capacity, _)| *capacity)
    }

    pub(super) fn note(
        &mut self,
        neighbour: Ipv4Addr,
        new: PathCapacity,
        is_recent: impl Fn(Instant) -> bool,
        now: Instant,
    ) {
        let mean = |known: u32, new: u32| ((7 * u64::from(known) + u64::from(new)) / 8) as u32;
        let (capacity, at) = self.measured.entry(neighbour).or_insert((new, now));
        if is_recent(*at) {
            capacity.bandwidth = mean(capacity.bandwidth, new.bandwidth).max(1);
            capacity.delay = mean(capacity.delay, new.delay);
        } else {
            *capacity = new;
        }
        *at = now;
    }
}
