//! RREQs of others (6.5).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::message::{Message, Rreq};
use super::path::Path;
use super::table::{News, is_better_way, is_newer};
use super::{Aodv, Metric};

/// How often a node handles a request again at most, because it came over a better way: a flood
/// stays within a few times its length.
const MOST_BETTER: u8 = 3;

impl Aodv {
    pub(super) fn on_request(&mut self, mut rreq: Rreq, (from, ttl): (Ipv4Addr, u8), now: Instant) {
        if let Some(until) = self.blacklist.get(&from) {
            if *until > now {
                return;
            }
            self.blacklist.remove(&from);
        }
        let hop = self.way_over(from, None, now);
        self.table.meet(from, hop, now + self.config.active_route_timeout);
        self.found(from);
        if rreq.originator == self.address {
            return;
        }
        let path = self.way_over(from, rreq.path, now);
        rreq.path = self.tells(path);
        rreq.hop_count = rreq.hop_count.saturating_add(1);
        let is_new = self.remember_request((rreq.originator, rreq.id), now);
        if !is_new && !self.is_worth_repeating(&rreq, path) {
            return;
        }
        self.learn_way_back(&rreq, path, from, now);
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

    /// Whether a request that was handled before has come over a better way: it is handled
    /// again, so that others learn of that way, but not without end.
    fn is_worth_repeating(&mut self, rreq: &Rreq, path: Path) -> bool {
        if self.config.metric == Metric::Hops {
            return false;
        }
        let is_better = self.table.active(rreq.originator).is_some_and(|route| {
            route.sequence == Some(rreq.originator_sequence) && is_better_way((rreq.hop_count, path), route)
        });
        let seen = self.seen.get_mut(&(rreq.originator, rreq.id));
        seen.filter(|seen| is_better && seen.better < MOST_BETTER).is_some_and(|seen| {
            seen.better += 1;
            true
        })
    }

    /// The reverse route, on which the RREP is to come back.
    fn learn_way_back(&mut self, rreq: &Rreq, path: Path, from: Ipv4Addr, now: Instant) {
        let taken = self.config.node_traversal_time * (2 * u32::from(rreq.hop_count));
        let left = (self.config.net_traversal_time() * 2).saturating_sub(taken);
        let minimal = now + left;
        let existing = self.table.active(rreq.originator).map_or(minimal, |route| route.expires);
        let news = News {
            sequence: Some(rreq.originator_sequence),
            hop_count: rreq.hop_count,
            next_hop: from,
            path,
            expires: minimal.max(existing),
        };
        self.table.update(rreq.originator, news);
        self.table.prolong(rreq.originator, minimal);
        self.found(rreq.originator);
    }
}

/// The later of two sequence numbers, as far as they are known.
pub(super) fn later(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if is_newer(other, one) { other } else { one }),
        (one, other) => one.or(other),
    }
}
