//! RREQs of other nodes (6.5).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::message::{Message, Rreq};
use super::path::Path;
use super::table::{Update, is_better_route, is_newer};
use super::{Aodv, Metric};

/// How often a node handles a request again because it came over a better route: this limits a
/// flood to a few times its length.
const MAX_REPEATS: u8 = 3;

impl Aodv {
    pub(super) fn on_request(&mut self, mut rreq: Rreq, (from, ttl): (Ipv4Addr, u8), now: Instant) {
        if let Some(until) = self.blacklist.get(&from) {
            if *until > now {
                return;
            }
            self.blacklist.remove(&from);
        }
        let hop = self.path_via(from, None, now);
        self.table.update_neighbor(from, hop, now + self.config.active_route_timeout);
        self.found(from);
        if rreq.originator == self.address {
            return;
        }
        let path = self.path_via(from, rreq.path, now);
        rreq.path = self.announced(path);
        rreq.hop_count = rreq.hop_count.saturating_add(1);
        let is_new = self.remember_request((rreq.originator, rreq.id), now);
        if !is_new && !self.is_worth_repeating(&rreq, path) {
            return;
        }
        self.update_reverse_route(&rreq, path, from, now);
        if rreq.destination == self.address {
            self.reply_as_destination(&rreq);
            return;
        }
        if self.reply_in_place(&rreq, from, now) {
            return;
        }
        if ttl > 1 {
            rreq.destination_sequence = later(
                rreq.destination_sequence,
                self.table.get(rreq.destination).and_then(|route| route.sequence),
            );
            self.counters.requests_forwarded += 1;
            let packet = self.packet(&Message::Request(rreq), Ipv4Addr::BROADCAST, ttl - 1);
            self.broadcast_later(packet, now);
        }
    }

    /// Whether a request that was handled before has come over a better route. It is handled again,
    /// so that others learn that route, up to a limit.
    fn is_worth_repeating(&mut self, rreq: &Rreq, path: Path) -> bool {
        if self.config.metric == Metric::Hops {
            return false;
        }
        let is_better = self.table.active(rreq.originator).is_some_and(|route| {
            route.sequence == Some(rreq.originator_sequence) && is_better_route((rreq.hop_count, path), route)
        });
        let seen = self.seen.get_mut(&(rreq.originator, rreq.id));
        seen.filter(|seen| is_better && seen.better < MAX_REPEATS).is_some_and(|seen| {
            seen.better += 1;
            true
        })
    }

    /// Updates the reverse route, for the RREP.
    fn update_reverse_route(&mut self, rreq: &Rreq, path: Path, from: Ipv4Addr, now: Instant) {
        let taken = self.config.node_traversal_time * (2 * u32::from(rreq.hop_count));
        let left = (self.config.net_traversal_time() * 2).saturating_sub(taken);
        let minimal = now + left;
        let existing = self.table.active(rreq.originator).map_or(minimal, |route| route.expires);
        let update = Update {
            sequence: Some(rreq.originator_sequence),
            hop_count: rreq.hop_count,
            next_hop: from,
            path,
            expires: minimal.max(existing),
        };
        self.table.update(rreq.originator, update);
        self.table.prolong(rreq.originator, minimal);
        self.found(rreq.originator);
    }
}

/// The later of two sequence numbers; `None` if neither is known.
pub(super) fn later(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if is_newer(other, one) { other } else { one }),
        (one, other) => one.or(other),
    }
}
