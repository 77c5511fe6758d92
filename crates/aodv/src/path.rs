//! The measurements of a path, and of a node's own hops: the basis of `metric`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use lasthop_agent::PathCapacity;
use lasthop_packet::Instant;

/// The measurements of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The capacity of its measured hops.
    pub capacity: PathCapacity,
    /// The number of measured hops.
    pub measured: u8,
}

impl Path {
    /// A path without hops, or without measurements.
    pub const START: Self = Self { capacity: PathCapacity::NO_HOPS, measured: 0 };

    /// The path with another hop, measured or not.
    pub(super) fn over(self, hop: Option<PathCapacity>) -> Self {
        let Some(hop) = hop else { return self };
        Self { capacity: self.capacity.over(hop), measured: self.measured.saturating_add(1) }
    }

    /// Bandwidth times delay, if all its hops are like the measured ones: in octets, times a
    /// million.
    pub(super) fn product(self, hop_count: u8) -> u128 {
        let PathCapacity { bandwidth, delay } = self.capacity;
        let of_measured = u128::from(bandwidth) * u128::from(delay) * u128::from(hop_count);
        of_measured.checked_div(self.measured.into()).unwrap_or(u128::MAX)
    }
}

/// The hops of a node to its neighbors.
#[derive(Clone, Debug, Default)]
pub(super) struct Hops {
    measured: BTreeMap<Ipv4Addr, (PathCapacity, Instant)>,
}

impl Hops {
    /// The hop to a neighbor; otherwise the most recently measured one.
    pub(super) fn of(&self, neighbor: Ipv4Addr, is_recent: impl Fn(Instant) -> bool) -> Option<PathCapacity> {
        let own = self.measured.get(&neighbor).filter(|(_, at)| is_recent(*at));
        let last = || self.measured.values().max_by_key(|(_, at)| *at).filter(|(_, at)| is_recent(*at));
        own.or_else(last).map(|(capacity, _)| *capacity)
    }

    pub(super) fn record(
        &mut self,
        neighbor: Ipv4Addr,
        new: PathCapacity,
        is_recent: impl Fn(Instant) -> bool,
        now: Instant,
    ) {
        let mean = |known: u32, new: u32| ((7 * u64::from(known) + u64::from(new)) / 8) as u32;
        let (capacity, at) = self.measured.entry(neighbor).or_insert((new, now));
        if is_recent(*at) {
            capacity.bandwidth = mean(capacity.bandwidth, new.bandwidth).max(1);
            capacity.delay = mean(capacity.delay, new.delay);
        } else {
            *capacity = new;
        }
        *at = now;
    }
}
