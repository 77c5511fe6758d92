//! Routes by their bandwidth-delay product: the routing metric of C3TCP (D. Kliazovich,
//! dissertation, University of Trento 2006, section 4.4.6; "the text").
//!
//! Each node measures its hop to a neighbor with the data frames that it sends there anyway, as
//! C3TCP does (4.4.1, 4.4.2). RREQs and RREPs carry the path from their sender to the node that the
//! route will lead to: the minimum bandwidth and the sum of the delays, in an extension (RFC 3561,
//! section 9). The receiver adds its own hop to the sender, because its packets will go in that
//! direction.
//!
//! What the text leaves open, and what we chose:
//!
//! - *Larger is better.* Other traffic on a hop reduces its bandwidth and does not change its delay
//!   (4.4.2).
//! - *Hops come first.* An idle hop adds a packet to the product, whatever its rate. So the product
//!   grows with the number of hops, and only compares routes of equal length. It may also decrease
//!   from hop to hop: alone it would not prevent loops in a distance vector.
//! - *A hop without data frames* in the last `ACTIVE_ROUTE_TIMEOUT` counts like the hop of the node
//!   that had the most recent one: a node has one queue and one medium for all its neighbors. If
//!   there is none, it counts as the average of the path's measured hops. A path without
//!   measurements ranks as the best of its length.
//! - *Smoothing* is by an eighth, as in C3TCP.
//! - *Weights change* with each frame, and are only used in a route search: an existing route is
//!   not replaced by another one.

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_agent::{FrameTimes, PathCapacity};
use lasthop_packet::Instant;

use super::path::Path;
use super::{Aodv, Metric};

/// Whether a measurement at this time still counts.
fn is_recent(at: Instant, now: Instant, lifetime: Duration) -> bool {
    now.since(at) <= lifetime
}

impl Aodv {
    /// Records a data frame with this many octets of data that has arrived at a neighbor.
    pub fn on_transmission(&mut self, neighbor: Ipv4Addr, octets: u32, times: &FrameTimes, now: Instant) {
        if self.config.metric == Metric::BandwidthDelay && octets > 0 {
            let lifetime = self.config.active_route_timeout;
            let hop = PathCapacity::from_frame(octets, times);
            self.hops.record(neighbor, hop, |at| is_recent(at, now, lifetime), now);
        }
    }

    /// The path over a neighbor that reported its own.
    pub(super) fn path_via(&self, neighbor: Ipv4Addr, reported: Option<Path>, now: Instant) -> Path {
        if self.config.metric == Metric::Hops {
            return Path::START;
        }
        let hop = self.hops.of(neighbor, |at| is_recent(at, now, self.config.active_route_timeout));
        reported.unwrap_or(Path::START).over(hop)
    }

    /// The path to include in a message.
    pub(super) fn announced(&self, path: Path) -> Option<Path> {
        (self.config.metric == Metric::BandwidthDelay).then_some(path)
    }
}
