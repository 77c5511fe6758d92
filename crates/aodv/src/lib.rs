//! On-demand routing in an ad hoc network: AODV (RFC 3561) as a pure state machine of one node. Its
//! inputs are packets, link-layer events and the time. Its outputs are packets, found and failed
//! routes and a deadline.
//!
//! | section | subject | module |
//! |---|---|---|
//! | 5 | messages in octets, on UDP port 654 | [`message`] |
//! | 6.1, 6.2 | sequence numbers, route table, precursors, lifetimes | `table` |
//! | 6.3, 6.4 | RREQs: expanding ring, back-off, rate limit, waiting packets | `search` |
//! | 6.5 | handling and forwarding RREQs | `requests` |
//! | 6.6, 6.7 | RREPs of destinations and of others, gratuitous ones; forwarding them | `replies` |
//! | 6.8 | the blacklist of neighbors that a RREP did not reach; RREP-ACK on request | `requests`, `replies` |
//! | 6.9 | Hellos, if enabled | `hello` |
//! | 6.10, 6.11 | broken links, detected by the link layer or by silence; RERRs | `errors` |
//! | 10 | parameters | [`AodvConfig`] |
//! | | a metric in addition to hops, after C3TCP | `metric`, `path` |
//!
//! Not implemented: local repair (6.12; the flag N of others is ignored), actions after a reboot
//! (6.13: a node's state lasts as long as its world), subnets and gateways (7, 8), multicast, others'
//! extensions (9; skipped).
//!
//! What the RFC leaves open, and what we chose (see `table` for loop freedom):
//!
//! - *The destination's sequence number* in its own RREP is the maximum of its own and the RREQ's
//!   (6.1); 6.6.1 states the case that matters.
//! - *A RREP without new information* is not forwarded (6.7), except one that exactly repeats what
//!   is known: otherwise a RREP that was lost on a later hop could not be repeated.
//! - *For a packet without a route* (6.11, case ii) the RERR goes to the neighbor on the reverse
//!   route to the packet's source, and to all neighbors if that is not known either.
//! - *Above the rate limit*, RREQs wait, and RERRs are omitted.
//! - *Of the packets that wait for a route*, the oldest makes room for new ones; the only limit in
//!   time is the search itself.
//! - *Packets that were given up* on a broken link are lost: retransmitting them is the purpose of
//!   local repair.
//! - *The previous hop* of a data packet is assumed to be the neighbor on the reverse route to its
//!   source.
//! - *Hellos*: only AODV's own messages count as signs of life. A node sends Hellos while it has had
//!   data to send or forward within `ACTIVE_ROUTE_TIMEOUT`, or has a route that others use or that
//!   is longer than a hop.
//! - *Gratuitous RREPs* are off by default, as in ns-2, which does not implement them; 6.5 requires
//!   them where the destination has to answer.
//! - *`MY_ROUTE_TIMEOUT`* has the value of the table in section 10; the sentence above that table,
//!   which requires four times as much, contradicts it.

mod config;
mod errors;
mod hello;
pub mod message;
mod metric;
mod path;
mod rate;
mod replies;
mod requests;
mod ring;
mod search;
mod seen;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Transport, Udp};

pub use config::{AodvConfig, Metric};
use message::{Message, PORT};
use path::Hops;
pub use path::Path;
use rate::Rate;
use ring::Search;
use seen::Seen;
pub use table::Route;
use table::Table;

/// AODV at one node.
#[derive(Clone, Debug)]
pub struct Aodv {
    config: AodvConfig,
    address: Ipv4Addr,
    rng: Rng,
    /// Its own sequence number.
    sequence: u32,
    /// The ID of its last request.
    request_id: u32,
    table: Table,
    searches: BTreeMap<Ipv4Addr, Search>,
    /// The recorded requests.
    seen: BTreeMap<(Ipv4Addr, u32), Seen>,
    /// The same in order of their expiry.
    seen_in_order: VecDeque<(Instant, (Ipv4Addr, u32))>,
    /// Neighbors that a RREP did not reach, and until when their requests are ignored.
    blacklist: BTreeMap<Ipv4Addr, Instant>,
    /// The measurements by frames to neighbors; empty where the metric is hops.
    hops: Hops,
    requests: Rate,
    errors: Rate,
    /// Neighbors that send Hellos, and when their last message came.
    neighbors: BTreeMap<Ipv4Addr, Instant>,
    /// When the node next checks whether to send a Hello.
    hello_at: Option<Instant>,
    last_broadcast: Option<Instant>,
    /// Until when its own data makes it a part of an active route.
    in_use_until: Instant,
    /// Broadcasts delayed by their jitter.
    delayed: BTreeMap<(Instant, u64), Packet>,
    delays: u64,
    outputs: VecDeque<Output>,
    counters: AodvCounters,
}

/// The result of a search for the route of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteLookup {
    /// This neighbor.
    Next(Ipv4Addr),
    /// Not known yet: an [`Output::Found`] or [`Output::Failed`] will follow for the destination.
    Wait,
    /// No route.
    None,
}

/// The outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and none is kept")]
pub enum Output {
    /// A message: to all nodes in range if its destination is the limited broadcast address,
    /// otherwise to the neighbor with that address.
    Send(Packet),
    /// There is a route to a destination that packets wait for.
    Found(Ipv4Addr),
    /// No route was found: the packets that wait for it should be dropped.
    Failed(Ipv4Addr),
}

lasthop_agent::counters! {
    /// The counters of a node.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AodvCounters {
        /// Route searches started.
        searches: SEARCHES = "aodv_searches",
        /// Route searches that found no route.
        searches_failed: SEARCHES_FAILED = "aodv_searches_failed",
        /// RREQs that nodes originated.
        requests_originated: REQUESTS_ORIGINATED = "aodv_rreq_originated",
        /// RREQs of other nodes that nodes forwarded.
        requests_forwarded: REQUESTS_FORWARDED = "aodv_rreq_forwarded",
        /// RREPs that nodes originated, as the destination or on its behalf.
        replies_originated: REPLIES_ORIGINATED = "aodv_rrep_originated",
        /// RREPs of other nodes that nodes forwarded.
        replies_forwarded: REPLIES_FORWARDED = "aodv_rrep_forwarded",
        /// RERRs sent.
        errors_sent: ERRORS_SENT = "aodv_rerr_sent",
        /// Hellos sent.
        hellos_sent: HELLOS_SENT = "aodv_hello_sent",
        /// Broken links to neighbors on a route.
        links_broken: LINKS_BROKEN = "aodv_links_broken",
    }
}

impl Aodv {
    /// A node without routes. It draws jitter from `rng`.
    pub fn new(address: Ipv4Addr, mut config: AodvConfig, mut rng: Rng) -> Self {
        config.hello_interval = config.hello_interval.filter(|interval| !interval.is_zero());
        let hello_at =
            config.hello_interval.map(|interval| Instant::from_nanos(rng.below(interval.as_nanos() as u64)));
        Self {
            config,
            address,
            rng,
            sequence: 0,
            request_id: 0,
            table: Table::default(),
            searches: BTreeMap::new(),
            seen: BTreeMap::new(),
            seen_in_order: VecDeque::new(),
            blacklist: BTreeMap::new(),
            hops: Hops::default(),
            requests: Rate::new(config.rreq_rate_limit),
            errors: Rate::new(config.rerr_rate_limit),
            neighbors: BTreeMap::new(),
            hello_at,
            last_broadcast: None,
            in_use_until: Instant::ZERO,
            delayed: BTreeMap::new(),
            delays: 0,
            outputs: VecDeque::new(),
            counters: AodvCounters::default(),
        }
    }

    /// Its parameters.
    pub const fn config(&self) -> &AodvConfig {
        &self.config
    }

    /// The counters so far.
    pub const fn counters(&self) -> &AodvCounters {
        &self.counters
    }

    /// The active route to a destination. Lifetimes were last checked at the latest input.
    pub fn active_route(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.table.active(destination)
    }

    /// Whether a packet is a message of AODV.
    pub fn is_message(packet: &Packet) -> bool {
        matches!(packet.transport(), Transport::Udp(udp) if udp.destination_port == PORT)
    }

    /// The next hop of a data packet, whose route thereby counts as used (section 6.2). Without a
    /// route, a packet of this node (`source`) starts a search, and one of another node is answered
    /// with a RERR.
    pub fn route(&mut self, source: Ipv4Addr, destination: Ipv4Addr, now: Instant) -> RouteLookup {
        self.table.expire(now, self.config.delete_period());
        let until = now + self.config.active_route_timeout;
        if let Some(route) = self.table.active(destination) {
            let next_hop = route.next_hop;
            self.in_use_until = until;
            self.table.prolong(destination, until);
            self.table.prolong(next_hop, until);
            if source != self.address
                && let Some(back) = self.table.active(source).map(|route| route.next_hop)
            {
                self.table.prolong(source, until);
                self.table.prolong(back, until);
            }
            return RouteLookup::Next(next_hop);
        }
        if source == self.address {
            self.search(destination, now);
            return RouteLookup::Wait;
        }
        self.report_no_route(source, destination, now);
        RouteLookup::None
    }

    /// Processes a message from a neighbor: the IP source is the sender at each hop. Other packets
    /// are ignored.
    pub fn on_message(&mut self, packet: &Packet, now: Instant) {
        let IpAddr::V4(from) = packet.ip().source else { return };
        let Some(message) = Message::parse(&packet.payload().octets()).filter(|_| from != self.address)
        else {
            return;
        };
        self.table.expire(now, self.config.delete_period());
        if let Some(last) = self.neighbors.get_mut(&from) {
            *last = now;
        }
        let ttl = packet.ip().hop_limit;
        match message {
            Message::Request(rreq) => self.on_request(rreq, (from, ttl), now),
            Message::Reply(rrep) if packet.ip().destination == IpAddr::V4(Ipv4Addr::BROADCAST) => {
                self.on_hello(rrep, from, now);
            }
            Message::Reply(rrep) => self.on_reply(rrep, (from, ttl), now),
            Message::Error(rerr) => self.on_error(&rerr, from, now),
            Message::ReplyAck => {
                self.blacklist.remove(&from);
            }
        }
    }

    /// When [`Self::on_deadline`] is due next.
    pub fn deadline(&self) -> Option<Instant> {
        let delayed = self.delayed.first_key_value().map(|((at, _), _)| *at);
        let searches = self.searches.values().map(|search| search.due).min();
        [delayed, searches, self.hello_deadline()].into_iter().flatten().min()
    }

    /// Performs the actions that are due. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant) {
        self.table.expire(now, self.config.delete_period());
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let packet = entry.remove();
            self.broadcast(packet, now);
        }
        self.continue_searches(now);
        self.maintain_neighbors(now);
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The packet of a message to a neighbor, or to all nodes in range.
    fn packet(&self, message: &Message, to: Ipv4Addr, ttl: u8) -> Packet {
        let ip = Ip { hop_limit: ttl, ..Ip::new(self.address.into(), to.into()) };
        let udp = Udp { source_port: PORT, destination_port: PORT };
        Packet::new(ip, Transport::Udp(udp), Payload::Bytes(message.octets().into()))
    }

    fn send_to(&mut self, neighbor: Ipv4Addr, message: &Message, ttl: u8) {
        let packet = self.packet(message, neighbor, ttl);
        self.outputs.push_back(Output::Send(packet));
    }

    fn broadcast(&mut self, packet: Packet, now: Instant) {
        self.last_broadcast = Some(now);
        self.outputs.push_back(Output::Send(packet));
    }

    /// Delays a broadcast that was triggered by one that other nodes have received, too.
    fn broadcast_later(&mut self, packet: Packet, now: Instant) {
        let jitter = self.rng.below(self.config.broadcast_jitter.as_nanos() as u64);
        if jitter == 0 {
            self.broadcast(packet, now);
            return;
        }
        self.delays += 1;
        self.delayed.insert((now.after_nanos(jitter), self.delays), packet);
    }

    /// Ends the search for a route that has been found.
    fn found(&mut self, destination: Ipv4Addr) {
        if self.searches.remove(&destination).is_some() {
            self.outputs.push_back(Output::Found(destination));
        }
    }
}
