//! Hellos, and neighbors that fall silent (6.9, 6.10).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::Aodv;
use super::message::{Message, Rrep};
use super::table::Update;

impl Aodv {
    pub(super) fn on_hello(&mut self, rrep: Rrep, from: Ipv4Addr, now: Instant) {
        if rrep.destination != from || rrep.hop_count != 0 {
            return;
        }
        let until = now + self.config.hello_lifetime().unwrap_or(rrep.lifetime);
        let path = self.path_via(from, None, now);
        let update = Update {
            sequence: Some(rrep.destination_sequence),
            hop_count: 1,
            next_hop: from,
            path,
            expires: self.table.active(from).map_or(until, |route| route.expires.max(until)),
        };
        self.table.update(from, update);
        self.table.update_neighbor(from, path, until);
        self.found(from);
        if self.config.hello_interval.is_some() {
            self.neighbors.insert(from, now);
        }
    }

    pub(super) fn hello_deadline(&self) -> Option<Instant> {
        let lifetime = self.config.hello_lifetime()?;
        let silent = self.neighbors.values().min().map(|last| *last + lifetime);
        [silent, self.hello_at].into_iter().flatten().min()
    }

    /// Sends a Hello if one is due, and removes neighbors that fell silent.
    pub(super) fn maintain_neighbors(&mut self, now: Instant) {
        let (Some(interval), Some(lifetime)) = (self.config.hello_interval, self.config.hello_lifetime())
        else {
            return;
        };
        let silent = self.neighbors.iter().filter(|(_, last)| **last + lifetime <= now);
        let silent: Vec<Ipv4Addr> = silent.map(|(neighbor, _)| *neighbor).collect();
        for neighbor in silent {
            self.on_link_broken(neighbor, now);
        }
        while let Some(at) = self.hello_at.filter(|at| *at <= now) {
            self.hello_at = Some(at + interval);
            let has_broadcast = self.last_broadcast.is_some_and(|last| last + interval > at);
            if !has_broadcast && self.is_on_an_active_route(now) {
                self.send_hello(now);
            }
        }
    }

    fn is_on_an_active_route(&self, now: Instant) -> bool {
        let is_used =
            |route: &super::Route| route.is_active && (route.hop_count > 1 || !route.precursors.is_empty());
        self.in_use_until > now || self.table.iter().any(|(_, route)| is_used(route))
    }

    fn send_hello(&mut self, now: Instant) {
        let rrep = Rrep {
            ack_required: false,
            hop_count: 0,
            destination: self.address,
            destination_sequence: self.sequence,
            originator: self.address,
            lifetime: self.config.hello_lifetime().unwrap_or_default(),
            path: None,
        };
        self.counters.hellos_sent += 1;
        let packet = self.packet(&Message::Reply(rrep), Ipv4Addr::BROADCAST, 1);
        self.broadcast(packet, now);
    }
}
