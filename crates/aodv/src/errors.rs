//! Broken links (6.10) and RERRs (6.11).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use lasthop_packet::{Instant, Packet};

use super::Aodv;
use super::message::{Message, Rerr};

impl Aodv {
    /// The link layer gave up a frame to a neighbor, with this packet if it did not arrive: the
    /// link is broken (case i).
    pub fn on_given_up(&mut self, neighbor: Ipv4Addr, packet: Option<&Packet>, now: Instant) {
        if !self.config.link_layer_feedback {
            return;
        }
        let message = packet.filter(|packet| Self::is_message(packet));
        let message = message.and_then(|packet| Message::parse(&packet.payload().octets()));
        if let Some(Message::Reply(_)) = message {
            // RREQs from this neighbor arrive, but nothing reaches it (6.8).
            self.blacklist.insert(neighbor, now + self.config.blacklist_timeout());
        }
        self.table.expire(now, self.config.delete_period());
        self.on_link_broken(neighbor, now);
    }

    pub(super) fn on_link_broken(&mut self, neighbor: Ipv4Addr, now: Instant) {
        self.neighbors.remove(&neighbor);
        let lost = self.table.through(neighbor);
        self.counters.links_broken += u64::from(!lost.is_empty());
        let lost: Vec<_> = lost.into_iter().map(|destination| (destination, None)).collect();
        self.invalidate_routes(&lost, false, now);
    }

    /// A neighbor's RERR invalidates the routes that lead through it (case iii).
    pub(super) fn on_error(&mut self, rerr: &Rerr, from: Ipv4Addr, now: Instant) {
        let leads_there =
            |destination| self.table.active(destination).is_some_and(|route| route.next_hop == from);
        let lost = rerr.unreachable.iter().filter(|(destination, _)| leads_there(*destination));
        // 0 means unknown.
        let reported = |sequence: u32| (sequence != 0).then_some(sequence);
        let lost: Vec<_> = lost.map(|(destination, sequence)| (*destination, reported(*sequence))).collect();
        self.invalidate_routes(&lost, true, now);
    }

    /// Invalidates these routes, and notifies the nodes that use them. Each comes with the sequence
    /// number in the RERR, if there was one.
    fn invalidate_routes(&mut self, lost: &[(Ipv4Addr, Option<u32>)], is_forwarded: bool, now: Instant) {
        let delete_at = now + self.config.delete_period();
        let mut unreachable = Vec::new();
        let mut users: BTreeSet<Ipv4Addr> = BTreeSet::new();
        for (destination, reported) in lost {
            let Some(route) = self.table.invalidate(*destination, *reported, delete_at) else { continue };
            if !route.precursors.is_empty() {
                unreachable.push((*destination, route.sequence.unwrap_or(0)));
                users.extend(&route.precursors);
            }
        }
        let mut users = users.into_iter();
        let to = match (users.next(), users.next()) {
            (Some(only), None) => only,
            _ => Ipv4Addr::BROADCAST,
        };
        for part in unreachable.chunks(usize::from(u8::MAX)) {
            self.send_error(Rerr { unreachable: part.to_vec() }, to, is_forwarded, now);
        }
    }

    /// Handles a data packet without a route (case ii).
    pub(super) fn report_no_route(&mut self, source: Ipv4Addr, destination: Ipv4Addr, now: Instant) {
        self.table.remember(destination, now + self.config.delete_period());
        let sequence = self.table.get(destination).and_then(|route| route.sequence).unwrap_or(0);
        let to = self.table.active(source).map_or(Ipv4Addr::BROADCAST, |route| route.next_hop);
        self.send_error(Rerr { unreachable: vec![(destination, sequence)] }, to, false, now);
    }

    fn send_error(&mut self, rerr: Rerr, to: Ipv4Addr, is_forwarded: bool, now: Instant) {
        if self.errors.take(now).is_err() {
            return;
        }
        self.counters.errors_sent += 1;
        let packet = self.packet(&Message::Error(rerr), to, 1);
        if to != Ipv4Addr::BROADCAST {
            self.outputs.push_back(super::Output::Send(packet));
        } else if is_forwarded {
            // Other nodes have received the same RERR.
            self.broadcast_later(packet, now);
        } else {
            self.broadcast(packet, now);
        }
    }
}
