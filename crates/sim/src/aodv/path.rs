//! Ways by their bandwidth-delay product: the routing metric of C3TCP (D. Kliazovich, dissertation,
//! University of Trento 2006, section 4.4.6; "the text").
//!
//! Each node measures its hop to a neighbour by the data frames that it sends there anyway, as
//! C3TCP does (4.4.1, 4.4.2). RREQs and RREPs tell the way from who sends them to the node that the
//! route will lead to: the least bandwidth and the sum of the delays, in an extension (RFC 3561,
//! section 9). Who receives one adds its own hop to the sender, for that is where its packets will
//! go.
//!
//! What the text leaves open, and what we chose:
//!
//! - *Larger is better.* Other traffic on a hop takes from its bandwidth and leaves its delay as it is (4.4.2).
//! - *Hops come first.* An idle hop adds a packet to the product, whatever its rate. So it grows
//!   with the hops, and says something of ways with as many only. It also may fall from hop to hop:
//!   by itself it would not keep a distance vector from loops.
//! - *A hop that no data has gone over* in `ACTIVE_ROUTE_TIMEOUT` is taken to be as the one of its
//!   node that data has gone over last: a node has one queue and one medium for all its neighbours.
//!   If there is none, it is taken to be as those of the way that were measured are on the average.
//!   Nothing speaks against a way of which nothing was measured.
//! - *Smoothing* is by an eighth, as with C3TCP.
//! - *Weights change* with each frame, and are looked at when a route is searched for: a route that
//!   stands is not left for another one.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_agent::{FrameTimes, PathCapacity};
use lasthop_packet::Instant;

use super::{Aodv, Metric};

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
    fn over(self, hop: Option<PathCapacity>) -> Self {
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
    fn of(&self, neighbour: Ipv4Addr, is_recent: impl Fn(Instant) -> bool) -> Option<PathCapacity> {
        let own = self.measured.get(&neighbour).filter(|(_, at)| is_recent(*at));
        let last = || self.measured.values().max_by_key(|(_, at)| *at).filter(|(_, at)| is_recent(*at));
        own.or_else(last).map(|(capacity, _)| *capacity)
    }

    fn note(
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

/// Whether what was measured then still counts.
fn is_recent(at: Instant, now: Instant, lifetime: Duration) -> bool {
    now.since(at) <= lifetime
}

impl Aodv {
    /// A data frame to a neighbour has arrived there, with this many octets of data.
    pub fn on_transmission(&mut self, neighbour: Ipv4Addr, octets: u32, times: &FrameTimes, now: Instant) {
        if self.config.metric == Metric::BandwidthDelay && octets > 0 {
            let lifetime = self.config.active_route_timeout;
            let hop = PathCapacity::of_hop(octets, times);
            self.hops.note(neighbour, hop, |at| is_recent(at, now, lifetime), now);
        }
    }

    /// The way over a neighbour that tells of its own.
    pub(super) fn way_over(&self, neighbour: Ipv4Addr, told: Option<Path>, now: Instant) -> Path {
        if self.config.metric == Metric::Hops {
            return Path::START;
        }
        let hop = self.hops.of(neighbour, |at| is_recent(at, now, self.config.active_route_timeout));
        told.unwrap_or(Path::START).over(hop)
    }

    /// What a message tells of a way.
    pub(super) fn tells(&self, path: Path) -> Option<Path> {
        (self.config.metric == Metric::BandwidthDelay).then_some(path)
    }
}
