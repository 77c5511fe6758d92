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
//!   If there is none, it counts as the average of the way's measured hops. A way of which nothing was
//!   measured ranks as the best of its length.
//! - *Smoothing* is by an eighth, as with C3TCP.
//! - *Weights change* with each frame, and are looked at when a route is searched for: a route that
//!   stands is not left for another one.

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_agent::{FrameTimes, PathCapacity};
use lasthop_packet::Instant;

use super::path::Path;
use super::{Aodv, Metric};

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
