//! Route searches: RREQs in expanding rings (6.4), repeated with binary exponential back-off (6.3).

use std::net::Ipv4Addr;

use lasthop_packet::Instant;

use super::message::{Message, Rreq};
use super::path::Path;
use super::ring::Search;
use super::seen::Seen;
use super::{Aodv, Output};

impl Aodv {
    /// Starts a search for a route, unless one is in progress.
    pub(super) fn search(&mut self, destination: Ipv4Addr, now: Instant) {
        // A packet without a route keeps the destination's last distance in memory.
        self.table.remember(destination, now + self.config.delete_period());
        if self.searches.contains_key(&destination) {
            return;
        }
        self.counters.searches += 1;
        // The distance has hardly grown.
        let ttl = match self.table.get(destination) {
            Some(route) => route.hop_count.saturating_add(self.config.ttl_increment),
            None => self.config.ttl_start,
        };
        let search = Search { ttl: self.ring(ttl), full: 0, is_held: true, due: now };
        self.searches.insert(destination, search);
        self.request(destination, now);
    }

    /// The TTL of the next request: above `TTL_THRESHOLD` it is the maximum.
    fn ring(&self, ttl: u8) -> u8 {
        let farthest = self.config.net_diameter;
        if ttl > self.config.ttl_threshold { farthest } else { ttl.clamp(1, farthest.max(1)) }
    }

    /// Sends a search's next request, now or when the rate limit allows it.
    fn request(&mut self, destination: Ipv4Addr, now: Instant) {
        let Some(mut search) = self.searches.get(&destination).copied() else { return };
        if let Err(free_at) = self.requests.take(now) {
            (search.is_held, search.due) = (true, free_at);
            self.searches.insert(destination, search);
            return;
        }
        let wait = if search.ttl >= self.config.net_diameter {
            search.full += 1;
            self.config
                .net_traversal_time()
                .saturating_mul(1u32.checked_shl(search.full - 1).unwrap_or(u32::MAX))
        } else {
            self.config.ring_traversal_time(search.ttl)
        };
        (search.is_held, search.due) = (false, now + wait);
        self.searches.insert(destination, search);

        self.sequence = self.sequence.wrapping_add(1);
        self.request_id = self.request_id.wrapping_add(1);
        self.remember_request((self.address, self.request_id), now);
        self.counters.requests_originated += 1;
        let known = self.table.get(destination).and_then(|route| route.sequence);
        // An entry is kept while a reply is expected (6.4).
        self.table.remember(destination, now + self.config.net_traversal_time() * 2);
        let rreq = Rreq {
            gratuitous: self.config.gratuitous_replies,
            destination_only: self.config.destination_only,
            hop_count: 0,
            id: self.request_id,
            destination,
            destination_sequence: known,
            originator: self.address,
            originator_sequence: self.sequence,
            path: self.announced(Path::START),
        };
        let packet = self.packet(&Message::Request(rreq), Ipv4Addr::BROADCAST, search.ttl);
        self.broadcast(packet, now);
    }

    /// Sends delayed requests, and continues searches whose request was not answered.
    pub(super) fn continue_searches(&mut self, now: Instant) {
        let due = self.searches.iter().filter(|(_, search)| search.due <= now);
        let due: Vec<Ipv4Addr> = due.map(|(destination, _)| *destination).collect();
        for destination in due {
            let Some(mut search) = self.searches.get(&destination).copied() else { continue };
            if !search.is_held {
                if search.full > self.config.rreq_retries {
                    self.searches.remove(&destination);
                    self.counters.searches_failed += 1;
                    self.outputs.push_back(Output::Failed(destination));
                    continue;
                }
                if search.full == 0 {
                    search.ttl = self.ring(search.ttl.saturating_add(self.config.ttl_increment));
                    self.searches.insert(destination, search);
                }
            }
            self.request(destination, now);
        }
    }

    /// Records a request, which is then not handled again for `PATH_DISCOVERY_TIME`. Returns
    /// whether it is new.
    pub(super) fn remember_request(&mut self, name: (Ipv4Addr, u32), now: Instant) -> bool {
        while let Some((until, old)) = self.seen_in_order.front().copied().filter(|(until, _)| *until <= now)
        {
            self.seen_in_order.pop_front();
            if self.seen.get(&old).is_some_and(|seen| seen.until == until) {
                self.seen.remove(&old);
            }
        }
        if self.seen.contains_key(&name) {
            return false;
        }
        let until = now + self.config.path_discovery_time();
        self.seen.insert(name, Seen { until, better: 0 });
        self.seen_in_order.push_back((until, name));
        true
    }
}
