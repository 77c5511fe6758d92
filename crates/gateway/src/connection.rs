//! What the engine remembers of one TCP connection, or of the datagrams between two ports.

use std::hint::black_box;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet, Protocol, TcpFlags};
use serde::Serialize;

use super::clients::{Carried, Place};
use super::hop_rtt::HopRtts;
use super::hop_watch::HopWatch;
use super::reaction::Reaction;
use crate::frame::LinkHeader;
use crate::io::PortId;

/// A TCP connection that crosses the gateway, or the datagrams between two ports.
#[derive(Debug)]
pub struct TrackedConnection {
    /// When its first packet came.
    pub opened: Instant,
    /// When its last packet came.
    pub last_used: Instant,
    /// When it was last kept although it was idle, because its agent owed something of it.
    pub kept: Option<Instant>,
    /// What came from the core side.
    pub from_core: Direction,
    /// What came from the radio side.
    pub from_radio: Direction,
    /// How far it is between its first SYN and its last FIN.
    pub state: State,
    /// The index of its rule; `None` if no rule wants it.
    pub rule: Option<u16>,
    /// Why no agent sees it any more; `None` where its rule's agent does.
    pub aside: Option<Aside>,
    /// When the kernel was last told that it is aside.
    pub told_aside: Instant,
    /// What is to be done once its agent owes nothing of it.
    pub leaving: Option<Draining>,
    /// Packets that an agent made for it.
    pub sent_by_agent: u32,
    /// Packets of it that an agent dropped or took over.
    pub kept_by_agent: u32,
    /// How its sender on the core side answers to loss.
    pub reaction: Reaction,
    /// What is measured of its hop.
    pub hop: HopWatch,
    /// Where it is counted for its client, if clients are counted.
    pub client: Place,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Direction {
    /// How its latest packet came in; `None` before the first. Learned anew with each packet: a
    /// client that roams, or a route that changes, changes it.
    pub arrival: Option<Arrival>,
    /// Packets on the wire: a super-packet counts its segments.
    pub packets: u64,
    /// Octets of IP packets.
    pub octets: u64,
    /// A FIN came.
    pub finished: bool,
}

/// How a packet came in, and how one that is to look like it must go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The port.
    pub port: PortId,
    /// The link header, VLAN tags included.
    pub link: LinkHeader,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A SYN came, and nothing but SYNs since.
    Opening,
    /// Data may flow, or did when we met it.
    Established,
    /// One end has sent its FIN.
    HalfClosed,
    /// Both ends have, or one has reset it.
    Closing,
    /// It is no TCP connection.
    Datagrams,
}

/// Why no agent sees a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aside {
    /// Only one of its directions passes here.
    OneWay,
    /// Its sender does not slow down on loss: there is nothing to gain, and copies may do harm.
    Unresponsive,
    /// Its agent has no use for it.
    NoUse,
    /// The control socket said so.
    Asked,
}

/// Why a connection is to leave its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draining {
    /// It is to be set aside.
    Aside(Aside),
    /// Another rule wants it, or none.
    ForRule,
}

impl State {
    /// Every state, in the order of [`State::index`].
    pub const ALL: [Self; 5] =
        [Self::Opening, Self::Established, Self::HalfClosed, Self::Closing, Self::Datagrams];

    /// Its place in tables.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Aside {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::OneWay, Self::Unresponsive, Self::NoUse, Self::Asked];

    /// Its name in tables and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneWay => "one-way",
            Self::Unresponsive => "unresponsive",
            Self::NoUse => "no-use",
            Self::Asked => "asked",
        }
    }
}

impl TrackedConnection {
    /// A connection whose first packet comes now.
    pub fn new(rule: Option<u16>, state: State, now: Instant) -> Self {
        Self {
            opened: now,
            last_used: now,
            kept: None,
            from_core: Direction::default(),
            from_radio: Direction::default(),
            state,
            rule,
            aside: None,
            told_aside: now,
            leaving: None,
            sent_by_agent: 0,
            kept_by_agent: 0,
            reaction: Reaction::default(),
            hop: HopWatch::default(),
            client: Place::default(),
        }
    }

    /// This rule's agent sees it from now on, and goes on doing so.
    pub fn stay_with(&mut self, rule: Option<u16>) {
        self.rule = rule;
        self.leaving = self.leaving.filter(|leaving| *leaving != Draining::ForRule);
    }

    /// Reads something of every cache line, so that they are near when a packet comes.
    pub fn look(&self) {
        let direction = |direction: &Direction| {
            (direction.arrival.as_ref().map(|arrival| arrival.port), direction.packets, direction.finished)
        };
        black_box((
            self.last_used,
            direction(&self.from_core),
            direction(&self.from_radio),
            self.rule,
            self.kept_by_agent,
            self.reaction.points(),
            self.hop.counters().segments_up,
            self.hop.rtt_wire(),
        ));
    }

    /// What came from this side.
    pub const fn from(&self, side: Side) -> &Direction {
        match side {
            Side::Core => &self.from_core,
            Side::Radio => &self.from_radio,
        }
    }

    /// What it carried so far.
    pub fn carried(&self) -> Carried {
        let Self { from_core, from_radio, .. } = self;
        Carried {
            packets_down: from_core.packets,
            packets_up: from_radio.packets,
            octets_down: from_core.octets,
            octets_up: from_radio.octets,
            hop: *self.hop.counters(),
        }
    }

    /// Whether both directions were seen. Before, an agent would have half of a connection to
    /// reason from.
    pub const fn is_two_way(&self) -> bool {
        self.from_core.arrival.is_some() && self.from_radio.arrival.is_some()
    }

    /// Whether one direction is all that there need be.
    pub fn may_be_one_way(&self) -> bool {
        self.state == State::Datagrams
    }

    /// Takes note of a packet from a port on this side, and counts the hop's round-trip time if the
    /// packet ends one. Where it came in as the one before did, nothing is cloned.
    pub fn note(
        &mut self,
        packet: &Packet,
        (from, port, link): (Side, PortId, &LinkHeader),
        now: Instant,
        hop_rtts: &mut HopRtts,
    ) {
        if self.state == State::Opening && self.is_first_answer(packet, from) {
            hop_rtts.count(now.since(self.last_used));
        }
        self.last_used = now;
        let direction = match from {
            Side::Core => &mut self.from_core,
            Side::Radio => &mut self.from_radio,
        };
        match &direction.arrival {
            Some(arrival) if arrival.port == port && arrival.link == *link => {}
            _ => direction.arrival = Some(Arrival { port, link: *link }),
        }
        direction.packets += u64::from(packet.segments());
        direction.octets += packet.len() as u64;
        if let Some(flags) = packet.tcp().map(|tcp| tcp.flags) {
            direction.finished |= flags.has(TcpFlags::FIN);
            self.state = self.next_state(flags);
            self.reaction.note(packet, from, now);
            self.hop.arrived(packet, from, now);
        }
    }

    /// Whether this packet is the client's answer to the one packet that came from the core side so
    /// far, just before: the handshake's SYN/ACK, or its SYN if the server opened the connection.
    /// After a retransmission it is not known which packet is answered (RFC 6298, section 3).
    fn is_first_answer(&self, packet: &Packet, from: Side) -> bool {
        let Some(flags) = packet.tcp().map(|tcp| tcp.flags) else { return false };
        // The client's own SYN came before its ACK, and nothing before its SYN/ACK.
        let before = u64::from(!flags.has(TcpFlags::SYN));
        from == Side::Radio
            && flags.has(TcpFlags::ACK)
            && !flags.has(TcpFlags::RST)
            && self.from_core.packets == 1
            && self.from_radio.packets == before
    }

    fn next_state(&self, flags: TcpFlags) -> State {
        if flags.has(TcpFlags::RST) || (self.from_core.finished && self.from_radio.finished) {
            return State::Closing;
        }
        match self.state {
            State::Closing => State::Closing,
            _ if self.from_core.finished || self.from_radio.finished => State::HalfClosed,
            State::Opening if flags.has(TcpFlags::SYN) => State::Opening,
            _ => State::Established,
        }
    }

    /// What the first packet of a connection makes of it: one that was running before we were
    /// counts as established. `flags` are those of a TCP segment.
    pub fn first_state(protocol: Protocol, flags: TcpFlags) -> State {
        match protocol {
            Protocol::Udp => State::Datagrams,
            Protocol::Tcp if flags.has(TcpFlags::SYN) => State::Opening,
            Protocol::Tcp => State::Established,
        }
    }

    /// Whether this packet starts another connection between the same ports.
    pub fn is_reopened_by(&self, flags: TcpFlags) -> bool {
        flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK) && self.state != State::Opening
    }

    /// Starts over: another connection between the same ports, of the same client. Where its packets
    /// come in is still known.
    pub fn reopen(&mut self, rule: Option<u16>, now: Instant) {
        let mut fresh = Self::new(rule, State::Opening, now);
        fresh.from_core.arrival = self.from_core.arrival.take();
        fresh.from_radio.arrival = self.from_radio.arrival.take();
        fresh.client = self.client;
        *self = fresh;
    }
}
