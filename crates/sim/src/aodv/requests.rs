//! RREQs of others (6.5).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::Aodv;
use super::message::{Message, Rreq};
use super::table::{News, is_newer};

impl Aodv {
    pub(super) fn on_request(&mut self, mut rreq: Rreq, (from, ttl): (Ipv4Addr, u8), now: Instant) {
        if let Some(until) = self.blacklist.get(&from) {
            if *until > now {
                return;
            }
            self.blacklist.remove(&from);
        }
        self.table.meet(from, now + self.config.active_route_timeout);
        self.found(from);
        if rreq.originator == self.address || !self.remember_request((rreq.originator, rreq.id), now) {
            return;
        }
        rreq.hop_count = rreq.hop_count.saturating_add(1);
        self.learn_way_back(&rreq, from, now);
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

    /// The reverse route, on which the RREP is to come back.
    fn learn_way_back(&mut self, rreq: &Rreq, from: Ipv4Addr, now: Instant) {
        let taken = self.config.node_traversal_time * (2 * u32::from(rreq.hop_count));
        let left = (self.config.net_traversal_time() * 2).saturating_sub(taken);
        let minimal = now + left;
        let existing = self.table.active(rreq.originator).map_or(minimal, |route| route.expires);
        let news = News {
            sequence: Some(rreq.originator_sequence),
            hop_count: rreq.hop_count,
            next_hop: from,
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
