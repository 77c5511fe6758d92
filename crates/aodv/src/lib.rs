//! Routes on demand in an ad hoc network. AODV (RFC 3561) is a pure state machine of one node.
//! Packets, the link layer's word and the time go in; packets, found and failed routes and a
//! deadline come out.
//!
//! | section | what | where |
//! |---|---|---|
//! | 5 | messages in octets, on UDP port 654 | [`message`] |
//! | 6.1, 6.2 | sequence numbers, route table, precursors, lifetimes | `table` |
//! | 6.3, 6.4 | RREQs: expanding ring, back-off, rate limit, what waits | `search` |
//! | 6.5 | handling and forwarding RREQs | `requests` |
//! | 6.6, 6.7 | RREPs of destinations and of others, gratuitous ones; forwarding them | `replies` |
//! | 6.8 | the blacklist of neighbours that a RREP did not reach; RREP-ACK where it is asked for | `requests`, `replies` |
//! | 6.9 | Hellos, if wanted | `hello` |
//! | 6.10, 6.11 | broken links, by the link layer or by silence; RERRs | `errors` |
//! | 10 | parameters | [`AodvConfig`] |
//! | | a metric besides hops, after C3TCP | `metric`, `path` |
//!
//! Not done: local repair (6.12; the flag N of others is ignored), actions after a reboot (6.13: a
//! node's state lasts as long as its world), subnets and gateways (7, 8), multicast, others' extensions
//! (9; skipped).
//!
//! What the RFC leaves open, and what we chose (see `table` for what keeps loops away):
//!
//! - *A destination's own number* in a RREP is the larger of its own and the RREQ's (6.1); 6.6.1
//!   tells the case that matters.
//! - *A RREP that tells nothing new* is not forwarded (6.7), but one that repeats word for word
//!   what is known is: else one that was lost farther on could not be repeated.
//! - *A packet for which there is no route* (6.11, case ii): the RERR goes to the neighbour on the
//!   way back to the packet's source, and to everybody in range if that is not known either.
//! - *Over the limit*, RREQs wait, and RERRs are left out.
//! - *What waits for a route* longest makes room where too much does; it has no other limit in time
//!   than the search.
//! - *Packets that were given up* on a broken link are lost: repeating them is what local repair is
//!   for.
//! - *The previous hop* of a data packet is taken to be the neighbour on the way back to its
//!   source.
//! - *Hellos*: only AODV's own messages count as signs of life, and a node sends them while it has
//!   had data to send or forward within `ACTIVE_ROUTE_TIMEOUT`, or has a route that others use or
//!   that is longer than a hop.
//! - *Gratuitous RREPs* are off unless asked for, as in ns-2, which does not know them; 6.5 wants
//!   them where the destination is to answer.
//! - *`MY_ROUTE_TIMEOUT`* is the table's value (10); the sentence above that table that wants four
//!   times as much contradicts it.

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
    /// That of its last request.
    request_id: u32,
    table: Table,
    searches: BTreeMap<Ipv4Addr, Search>,
    /// Requests that were seen, until when they are remembered.
    seen: BTreeMap<(Ipv4Addr, u32), Seen>,
    /// The same in the order in which they are forgotten.
    seen_in_order: VecDeque<(Instant, (Ipv4Addr, u32))>,
    /// Neighbours that a RREP did not reach, and until when their requests are ignored.
    blacklist: BTreeMap<Ipv4Addr, Instant>,
    /// What frames to neighbours have measured; nothing where the metric is hops.
    hops: Hops,
    requests: Rate,
    errors: Rate,
    /// Neighbours that send Hellos, and when they were heard last.
    neighbours: BTreeMap<Ipv4Addr, Instant>,
    /// When it is to look whether it should send a Hello.
    hello_at: Option<Instant>,
    last_broadcast: Option<Instant>,
    /// Until when it counts as part of an active route by its own data.
    in_use_until: Instant,
    /// Broadcasts that wait for their jitter.
    delayed: BTreeMap<(Instant, u64), Packet>,
    delays: u64,
    outputs: VecDeque<Output>,
    counters: AodvCounters,
}

/// Which way a data packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To this neighbour.
    Next(Ipv4Addr),
    /// Nowhere yet: there will be an [`Output::Found`] or [`Output::Failed`] for its destination.
    Wait,
    /// Nowhere.
    None,
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and none is kept")]
pub enum Output {
    /// A message: to everybody in range if it carries the limited broadcast address, else to the
    /// neighbour whose address it carries.
    Send(Packet),
    /// There is a route to a destination that packets wait for.
    Found(Ipv4Addr),
    /// None was found: what waits for it is to be dropped.
    Failed(Ipv4Addr),
}

lasthop_agent::counters! {
    /// What a node has done so far.
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
    /// A node that has heard nothing yet. It draws jitter from `rng`.
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
            neighbours: BTreeMap::new(),
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

    /// What it has done so far.
    pub const fn counters(&self) -> &AodvCounters {
        &self.counters
    }

    /// The active route to a destination, as far as anything was done with it by now.
    pub fn active_route(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.table.active(destination)
    }

    /// Whether this is a message of AODV's.
    pub fn is_message(packet: &Packet) -> bool {
        matches!(packet.transport(), Transport::Udp(udp) if udp.destination_port == PORT)
    }

    /// The way of a data packet, which is thereby used (section 6.2). A packet of this node's own
    /// (`source`) makes it look for a way; that of another is told that there is none.
    pub fn route(&mut self, source: Ipv4Addr, destination: Ipv4Addr, now: Instant) -> Way {
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
            return Way::Next(next_hop);
        }
        if source == self.address {
            self.search(destination, now);
            return Way::Wait;
        }
        self.refuse(source, destination, now);
        Way::None
    }

    /// A message has come in from a neighbour: whoever sent the packet, at each hop. What is none
    /// is ignored.
    pub fn on_message(&mut self, packet: &Packet, now: Instant) {
        let IpAddr::V4(from) = packet.ip().source else { return };
        let Some(message) = Message::parse(&packet.payload().octets()).filter(|_| from != self.address)
        else {
            return;
        };
        self.table.expire(now, self.config.delete_period());
        if let Some(heard) = self.neighbours.get_mut(&from) {
            *heard = now;
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

    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant) {
        self.table.expire(now, self.config.delete_period());
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let packet = entry.remove();
            self.broadcast(packet, now);
        }
        self.continue_searches(now);
        self.tend_neighbours(now);
    }

    /// The next thing that came out.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// A message's packet to a neighbour, or to everybody.
    fn packet(&self, message: &Message, to: Ipv4Addr, ttl: u8) -> Packet {
        let ip = Ip { hop_limit: ttl, ..Ip::new(self.address.into(), to.into()) };
        let udp = Udp { source_port: PORT, destination_port: PORT };
        Packet::new(ip, Transport::Udp(udp), Payload::Bytes(message.octets().into()))
    }

    fn send_to(&mut self, neighbour: Ipv4Addr, message: &Message, ttl: u8) {
        let packet = self.packet(message, neighbour, ttl);
        self.outputs.push_back(Output::Send(packet));
    }

    fn broadcast(&mut self, packet: Packet, now: Instant) {
        self.last_broadcast = Some(now);
        self.outputs.push_back(Output::Send(packet));
    }

    /// A broadcast that was set off by one that others have heard, too.
    fn broadcast_later(&mut self, packet: Packet, now: Instant) {
        let jitter = self.rng.below(self.config.broadcast_jitter.as_nanos() as u64);
        if jitter == 0 {
            self.broadcast(packet, now);
            return;
        }
        self.delays += 1;
        self.delayed.insert((now.after_nanos(jitter), self.delays), packet);
    }

    /// There is a route now: whatever waits for it may go.
    fn found(&mut self, destination: Ipv4Addr) {
        if self.searches.remove(&destination).is_some() {
            self.outputs.push_back(Output::Found(destination));
        }
    }
}
