//! One node, and the messages of its neighbors.

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Transport, Udp};

use crate::message::{Message, PORT, Rerr, Rrep, Rreq};
use crate::{Aodv, AodvConfig, Output, Route, RouteLookup};

pub const ALL: Ipv4Addr = Ipv4Addr::BROADCAST;

/// Node `number`.
pub fn at(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number)
}

pub fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// No jitter, so that messages are sent at once.
pub fn quiet() -> AodvConfig {
    AodvConfig { broadcast_jitter: Duration::ZERO, ..AodvConfig::default() }
}

/// The node under test is number 1.
pub struct Script {
    pub aodv: Aodv,
    pub now: Instant,
}

/// The actions of the node: sending a message to a node with a TTL, finding a route, or failing to
/// find one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Send(Ipv4Addr, u8, Message),
    Find(Ipv4Addr),
    Fail(Ipv4Addr),
}

pub fn script(config: AodvConfig) -> Script {
    Script { aodv: Aodv::new(at(1), config, Rng::named(1, "aodv")), now: Instant::ZERO }
}

impl Script {
    /// Advances to a time, and processes all that is due before. Returns the node's actions and
    /// their times.
    pub fn until(&mut self, now: Instant) -> Vec<(u64, Did)> {
        let mut done = Vec::new();
        while let Some(due) = self.aodv.deadline().filter(|due| *due <= now) {
            self.now = self.now.max(due);
            self.aodv.on_deadline(self.now);
            let at = self.now.as_millis();
            done.extend(self.did().into_iter().map(|did| (at, did)));
        }
        self.now = now;
        done
    }

    pub fn did(&mut self) -> Vec<Did> {
        std::iter::from_fn(|| self.aodv.poll())
            .map(|output| match output {
                Output::Found(destination) => Did::Find(destination),
                Output::Failed(destination) => Did::Fail(destination),
                Output::Send(packet) => {
                    let message = Message::parse(&packet.payload().octets()).expect("it is one of ours");
                    let std::net::IpAddr::V4(to) = packet.ip().destination else { panic!("IPv4 only") };
                    assert_eq!(packet.ip().source, at(1));
                    Did::Send(to, packet.ip().hop_limit, message)
                }
            })
            .collect()
    }

    /// Receives a message of a neighbor, to all or to this node.
    pub fn receive(&mut self, from: u8, to: Ipv4Addr, ttl: u8, message: &Message) -> Vec<Did> {
        self.aodv.on_message(&packet(from, to, ttl, message), self.now);
        self.did()
    }

    pub fn receive_request(&mut self, from: u8, ttl: u8, rreq: Rreq) -> Vec<Did> {
        self.receive(from, ALL, ttl, &Message::Request(rreq))
    }

    pub fn receive_reply(&mut self, from: u8, rrep: Rrep) -> Vec<Did> {
        self.receive(from, at(1), 30, &Message::Reply(rrep))
    }

    pub fn receive_error(&mut self, from: u8, unreachable: &[(u8, u32)]) -> Vec<Did> {
        self.receive(from, ALL, 1, &error(unreachable))
    }

    /// The next hop of a packet of this node.
    pub fn send(&mut self, to: u8) -> RouteLookup {
        self.aodv.route(at(1), at(to), self.now)
    }

    /// The next hop of a packet of another node.
    pub fn forward(&mut self, from: u8, to: u8) -> RouteLookup {
        self.aodv.route(at(from), at(to), self.now)
    }

    /// Next hop, hops and sequence number of an active route.
    pub fn knows(&self, destination: u8) -> Option<(Ipv4Addr, u8, Option<u32>)> {
        let route: &Route = self.aodv.active_route(at(destination))?;
        Some((route.next_hop, route.hop_count, route.sequence))
    }
}

pub fn packet(from: u8, to: Ipv4Addr, ttl: u8, message: &Message) -> Packet {
    let ip = Ip { hop_limit: ttl, ..Ip::new(at(from).into(), to.into()) };
    let udp = Udp { source_port: PORT, destination_port: PORT };
    Packet::new(ip, Transport::Udp(udp), Payload::Bytes(message.octets().into()))
}

/// A request of node `from` for node `to`.
pub fn request(from: u8, to: u8, hop_count: u8) -> Rreq {
    Rreq {
        gratuitous: false,
        destination_only: false,
        hop_count,
        id: 7,
        destination: at(to),
        destination_sequence: None,
        originator: at(from),
        originator_sequence: 20,
        path: None,
    }
}

/// A reply to node `to` with a way to node `destination`.
pub fn reply(to: u8, destination: u8, hop_count: u8, sequence: u32) -> Rrep {
    Rrep {
        ack_required: false,
        hop_count,
        destination: at(destination),
        destination_sequence: sequence,
        originator: at(to),
        lifetime: Duration::from_secs(6),
        path: None,
    }
}

pub fn error(unreachable: &[(u8, u32)]) -> Message {
    let unreachable = unreachable.iter().map(|(number, sequence)| (at(*number), *sequence)).collect();
    Message::Error(Rerr { unreachable })
}
