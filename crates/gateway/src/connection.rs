//! The engine's state of one TCP connection, or of the datagrams between two ports.

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
    /// The arrival time of its first packet.
    pub opened: Instant,
    /// The arrival time of its last packet.
    pub last_used: Instant,
    /// When its expiry was last postponed because its agent had an obligation for it.
    pub kept: Option<Instant>,
    /// The direction from the core side.
    pub from_core: Direction,
    /// The direction from the radio side.
    pub from_radio: Direction,
    /// Its state between the first SYN and the last FIN.
    pub state: State,
    /// The index of its rule; `None` if no rule selects it.
    pub rule: Option<u16>,
    /// The reason why no agent sees it; `None` if its rule's agent does.
    pub aside: Option<Aside>,
    /// When the kernel was last requested to set it aside.
    pub aside_requested: Instant,
    /// The change to be made once its agent has no obligation for it.
    pub draining: Option<Draining>,
    /// Packets that an agent generated for it.
    pub sent_by_agent: u32,
    /// Packets of it that an agent dropped or absorbed.
    pub kept_by_agent: u32,
    /// The reaction of its sender on the core side to loss.
    pub reaction: Reaction,
    /// The measurements of its hop.
    pub hop: HopWatch,
    /// The counters of its client, if clients are counted.
    pub client: Place,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Direction {
    /// The arrival of its latest packet; `None` before the first. It is updated by each packet,
    /// because a client may roam and a route may change.
    pub arrival: Option<Arrival>,
    /// Packets on the wire: each segment of a super-packet counts.
    pub packets: u64,
    /// Octets of IP packets.
    pub octets: u64,
    /// Whether a FIN was received.
    pub finished: bool,
}

/// The port and link header with which a packet arrived, and with which generated packets of the
/// same direction are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The port.
    pub port: PortId,
    /// The link header, VLAN tags included.
    pub link: LinkHeader,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Only SYNs were received.
    Opening,
    /// The handshake is over, or the first packet that the gateway saw was not a SYN.
    Established,
    /// One endpoint has sent a FIN.
    HalfClosed,
    /// Both endpoints have sent a FIN, or one has reset the connection.
    Closing,
    /// Datagrams, not a TCP connection.
    Datagrams,
}

/// Why no agent sees a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aside {
    /// Only one of its directions passes through this gateway.
    OneWay,
    /// Its sender does not slow down on loss: an agent cannot help, and copies may do harm.
    Unresponsive,
    /// Its agent has no use for it.
    NoUse,
    /// A command on the control socket.
    Asked,
}

/// Why a connection is to be taken from its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draining {
    /// It is to be set aside.
    Aside(Aside),
    /// Another rule selects it now, or none does.
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
    /// Creates a connection whose first packet has just arrived.
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
            aside_requested: now,
            draining: None,
            sent_by_agent: 0,
            kept_by_agent: 0,
            reaction: Reaction::default(),
            hop: HopWatch::default(),
            client: Place::default(),
        }
    }

    /// Assigns the connection to this rule, and cancels a pending change of rule.
    pub fn assign_to(&mut self, rule: Option<u16>) {
        self.rule = rule;
        self.draining = self.draining.filter(|draining| *draining != Draining::ForRule);
    }

    /// Reads from every cache line, so that they are in the cache when a packet arrives.
    pub fn read_cache_lines(&self) {
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

    /// The direction from this side.
    pub const fn from(&self, side: Side) -> &Direction {
        match side {
            Side::Core => &self.from_core,
            Side::Radio => &self.from_radio,
        }
    }

    /// The traffic that it has carried.
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

    /// Whether both directions were seen. Until then, an agent would know only half of the
    /// connection.
    pub const fn is_two_way(&self) -> bool {
        self.from_core.arrival.is_some() && self.from_radio.arrival.is_some()
    }

    /// Whether the flow may have a single direction, as datagrams may.
    pub fn may_be_one_way(&self) -> bool {
        self.state == State::Datagrams
    }

    /// Records a packet from a port on this side, and counts the hop's round-trip time if the
    /// packet completes one. The link header is copied only if the arrival differs from the
    /// previous one.
    pub fn record(
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
            self.reaction.record(packet, from, now);
            self.hop.arrived(packet, from, now);
        }
    }

    /// Whether this packet is the client's answer to the only packet so far from the core side,
    /// which immediately preceded it: the SYN/ACK of the handshake, or the SYN if the server opened
    /// the connection. After a retransmission the answered packet is ambiguous (RFC 6298, section
    /// 3).
    fn is_first_answer(&self, packet: &Packet, from: Side) -> bool {
        let Some(flags) = packet.tcp().map(|tcp| tcp.flags) else { return false };
        // The client's SYN precedes its ACK; no packet of the client precedes its SYN/ACK.
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

    /// The state of a connection after its first packet: without a SYN, the connection existed
    /// before the gateway saw it and is treated as established. `flags` are those of a TCP segment.
    pub fn first_state(protocol: Protocol, flags: TcpFlags) -> State {
        match protocol {
            Protocol::Udp => State::Datagrams,
            Protocol::Tcp if flags.has(TcpFlags::SYN) => State::Opening,
            Protocol::Tcp => State::Established,
        }
    }

    /// Whether a segment with these flags starts another connection between the same ports.
    pub fn is_reopened_by(&self, flags: TcpFlags) -> bool {
        flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK) && self.state != State::Opening
    }

    /// Resets the state for another connection between the same ports, with the same client. The
    /// arrivals remain known.
    pub fn reopen(&mut self, rule: Option<u16>, now: Instant) {
        let mut fresh = Self::new(rule, State::Opening, now);
        fresh.from_core.arrival = self.from_core.arrival.take();
        fresh.from_radio.arrival = self.from_radio.arrival.take();
        fresh.client = self.client;
        *self = fresh;
    }
}
