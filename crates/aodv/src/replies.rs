//! RREPs: creating (6.6), accepting and forwarding them (6.7).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::Aodv;
use super::message::{Message, Rrep, Rreq};
use super::path::Path;
use super::requests::later;
use super::table::{Update, is_newer};

impl Aodv {
    /// Replies as the destination (6.6.1).
    pub(super) fn reply_as_destination(&mut self, rreq: &Rreq) {
        self.sequence = later(Some(self.sequence), rreq.destination_sequence).unwrap_or(self.sequence);
        let Some(back) = self.table.active(rreq.originator).map(|route| route.next_hop) else { return };
        let rrep = Rrep {
            ack_required: false,
            hop_count: 0,
            destination: self.address,
            destination_sequence: self.sequence,
            originator: rreq.originator,
            lifetime: self.config.my_route_timeout(),
            path: self.announced(Path::START),
        };
        self.counters.replies_originated += 1;
        self.send_to(back, &Message::Reply(rrep), self.config.net_diameter);
    }

    /// Replies in the destination's place with a route that is at least as fresh as the one that
    /// the originator knows (6.6.2). Returns whether it did.
    pub(super) fn reply_in_place(&mut self, rreq: &Rreq, from: Ipv4Addr, now: Instant) -> bool {
        if rreq.destination_only {
            return false;
        }
        let Some((route, sequence)) =
            self.table.active(rreq.destination).and_then(|route| Some((route, route.sequence?)))
        else {
            return false;
        };
        if rreq.destination_sequence.is_some_and(|requested| is_newer(requested, sequence)) {
            return false;
        }
        let Some(back) = self.table.active(rreq.originator) else { return false };
        let rrep = Rrep {
            ack_required: false,
            hop_count: route.hop_count,
            destination: rreq.destination,
            destination_sequence: sequence,
            originator: rreq.originator,
            lifetime: route.expires.since(now),
            path: self.announced(route.path),
        };
        let gratuitous = Rrep {
            ack_required: false,
            hop_count: back.hop_count,
            destination: rreq.originator,
            destination_sequence: rreq.originator_sequence,
            originator: rreq.destination,
            lifetime: back.expires.since(now),
            path: self.announced(back.path),
        };
        let (towards, back) = (route.next_hop, back.next_hop);
        self.table.add_precursor(rreq.destination, from);
        self.table.add_precursor(rreq.originator, towards);
        self.counters.replies_originated += 1;
        self.send_to(back, &Message::Reply(rrep), self.config.net_diameter);
        if rreq.gratuitous {
            self.counters.replies_originated += 1;
            self.send_to(towards, &Message::Reply(gratuitous), self.config.net_diameter);
        }
        true
    }

    pub(super) fn on_reply(&mut self, mut rrep: Rrep, (from, ttl): (Ipv4Addr, u8), now: Instant) {
        let until = now + self.config.active_route_timeout;
        let hop = self.path_via(from, None, now);
        self.table.update_neighbor(from, hop, until);
        self.found(from);
        if rrep.ack_required {
            self.send_to(from, &Message::ReplyAck, 1);
        }
        if rrep.destination == self.address {
            return;
        }
        rrep.hop_count = rrep.hop_count.saturating_add(1);
        let path = self.path_via(from, rrep.path, now);
        rrep.path = self.announced(path);
        let update = Update {
            sequence: Some(rrep.destination_sequence),
            hop_count: rrep.hop_count,
            next_hop: from,
            path,
            expires: now + rrep.lifetime,
        };
        if !self.table.update(rrep.destination, update) {
            let repeats = self.table.active(rrep.destination).is_some_and(|route| {
                (route.next_hop, route.hop_count, route.sequence)
                    == (update.next_hop, update.hop_count, update.sequence)
            });
            if !repeats {
                return;
            }
            self.table.prolong(rrep.destination, update.expires);
        }
        self.found(rrep.destination);
        if rrep.originator == self.address || ttl <= 1 {
            return;
        }
        let Some(back) = self.table.active(rrep.originator).map(|route| route.next_hop) else { return };
        self.table.add_precursor(rrep.destination, back);
        self.table.add_precursor(from, back);
        self.table.prolong(rrep.originator, until);
        self.table.prolong(back, until);
        self.counters.replies_forwarded += 1;
        rrep.ack_required = false;
        self.send_to(back, &Message::Reply(rrep), ttl - 1);
    }
}
