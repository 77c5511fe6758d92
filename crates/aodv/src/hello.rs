//! Hellos, and neighbours that fall silent (6.9, 6.10).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::Aodv;
use super::message::{Message, Rrep};
use super::table::News;

impl Aodv {
    pub(super) fn on_hello(&mut self, rrep: Rrep, from: Ipv4Addr, now: Instant) {
        if rrep.destination != from || rrep.hop_count != 0 {
            return;
        }
        let until = now + self.config.hello_lifetime().unwrap_or(rrep.lifetime);
        let path = self.way_over(from, None, now);
        let news = News {
            sequence: Some(rrep.destination_sequence),
            hop_count: 1,
            next_hop: from,
            path,
            expires: self.table.active(from).map_or(until, |route| route.expires.max(until)),
        };
        self.table.update(from, news);
        self.table.meet(from, path, until);
        self.found(from);
        if self.config.hello_interval.is_some() {
            self.neighbours.insert(from, now);
        }
    }

    pub(super) fn hello_deadline(&self) -> Option<Instant> {
        let lifetime = self.config.hello_lifetime()?;
        let silent = self.neighbours.values().min().map(|heard| *heard + lifetime);
        [silent, self.hello_at].into_iter().flatten().min()
    }

    /// Sends a Hello if it is time for one, and gives up neighbours that fell silent.
    pub(super) fn tend_neighbours(&mut self, now: Instant) {
        let (Some(interval), Some(lifetime)) = (self.config.hello_interval, self.config.hello_lifetime())
        else {
            return;
        };
        let silent = self.neighbours.iter().filter(|(_, heard)| **heard + lifetime <= now);
        let silent: Vec<Ipv4Addr> = silent.map(|(neighbour, _)| *neighbour).collect();
        for neighbour in silent {
            self.on_link_broken(neighbour, now);
        }
        while let Some(at) = self.hello_at.filter(|at| *at <= now) {
            self.hello_at = Some(at + interval);
            let has_spoken = self.last_broadcast.is_some_and(|last| last + interval > at);
            if !has_spoken && self.is_on_an_active_route(now) {
                self.say_hello(now);
            }
        }
    }

    fn is_on_an_active_route(&self, now: Instant) -> bool {
        let is_used =
            |route: &super::Route| route.is_active && (route.hop_count > 1 || !route.precursors.is_empty());
        self.in_use_until > now || self.table.iter().any(|(_, route)| is_used(route))
    }

    fn say_hello(&mut self, now: Instant) {
        let rrep = Rrep {
            wants_ack: false,
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
