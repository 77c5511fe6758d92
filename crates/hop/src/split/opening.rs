//! A handshake that passes from end to end, and the legs that take its place once it is complete.
//!
//! Until then every packet passes: a SYN that is refused or never answered concerns only the ends.

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, Handshake};

use super::carried;
use super::pair::Pair;
use crate::handshake::{is_syn, opening};

/// A segment with a number further above the handshake belongs to another connection, or is forged.
const MAX_DISTANCE: u32 = 1 << 20;

/// The observed part of a handshake.
#[derive(Debug)]
pub struct Opening {
    /// Where the SYN came from.
    opener: Side,
    syn: Syn,
    answer: Option<Syn>,
    /// The connection is not split, even if its packets are repeated.
    is_refused: bool,
}

/// A SYN.
#[derive(Debug)]
struct Syn {
    /// Without unknown options, so that the size is constant.
    tcp: Tcp,
    /// The IP header.
    ip: Ip,
    /// When it first came.
    at: Instant,
    /// It came more than once: its answer measures no round trip.
    is_repeated: bool,
    has_data: bool,
    /// It requests, or agrees to, features that a split does not support ([`carried`]). With the
    /// ends' numbers only features that both agree to count: those in the answer.
    agrees_to_more: bool,
}

/// The role of a packet in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A part of the handshake, or unrelated: it passes.
    Passes,
    /// It completes the handshake: both ends have established the connection, or will with this
    /// packet.
    Completes,
}

impl Syn {
    fn new(packet: &Packet, tcp: &Tcp, now: Instant) -> Self {
        let mut known = tcp.clone();
        known.options.unknown = None;
        Self {
            tcp: known,
            ip: *packet.ip(),
            at: now,
            is_repeated: false,
            has_data: carried::has_data(packet),
            agrees_to_more: carried::has_unknown_options(tcp) || carried::has_accurate_ecn(packet),
        }
    }

    /// Records a retransmission. Its timestamp is the latest that the other end has seen.
    fn repeat(&mut self, tcp: &Tcp) {
        self.is_repeated = true;
        if let (Some(known), Some(other)) = (&mut self.tcp.options.timestamps, tcp.options.timestamps)
            && Seq(other.value).after(Seq(known.value))
        {
            *known = other;
        }
    }

    /// When it came, if its answer measures a round trip.
    fn timed(&self) -> Option<Instant> {
        (!self.is_repeated).then_some(self.at)
    }
}

impl Opening {
    /// A new handshake; `None` if the packet does not open a connection.
    pub fn begin(packet: &Packet, from: Side, now: Instant) -> Option<Self> {
        let tcp = packet.tcp()?;
        if opening(packet).is_none() || !carried::is_between_hosts(packet) {
            return None;
        }
        Some(Self { opener: from, syn: Syn::new(packet, tcp, now), answer: None, is_refused: false })
    }

    /// The side that the SYN came from.
    pub const fn opener(&self) -> Side {
        self.opener
    }

    /// Whether the connection is not split.
    pub const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The initial sequence number of the end that opens the connection.
    pub const fn initial_number(&self) -> Seq {
        self.syn.tcp.seq
    }

    /// Records a packet of this connection.
    pub fn on_packet(&mut self, packet: &Packet, from: Side, now: Instant) -> Step {
        let Some(tcp) = packet.tcp() else { return Step::Passes };
        if is_syn(tcp) {
            return self.on_syn(packet, tcp, from, now);
        }
        if self.is_refused || !tcp.flags.has(TcpFlags::ACK) || tcp.flags.has(TcpFlags::RST) {
            return Step::Passes;
        }
        match &self.answer {
            Some(answer) if self.is_completed_by(tcp, from, answer) => {
                self.is_refused = answer.agrees_to_more || answer.has_data || self.syn.has_data;
                if self.is_refused { Step::Passes } else { Step::Completes }
            }
            _ => {
                // Segments that the ends have exchanged unseen would be missing in the legs.
                self.is_refused = self.is_after(tcp, from);
                Step::Passes
            }
        }
    }

    /// Whether this is the third segment of the handshake, or data with the same number.
    fn is_completed_by(&self, tcp: &Tcp, from: Side, answer: &Syn) -> bool {
        from == self.opener && tcp.seq == self.syn.tcp.seq + 1 && tcp.ack == answer.tcp.seq + 1
    }

    /// Whether a segment comes after a handshake whose end was not observed, because the agent was
    /// not there yet, or had to remove its record to make room for others.
    fn is_after(&self, tcp: &Tcp, from: Side) -> bool {
        let first = self.syn.tcp.seq + 1;
        let number = if from == self.opener { tcp.seq } else { tcp.ack };
        !number.before(first) && number - first < MAX_DISTANCE
    }

    fn on_syn(&mut self, packet: &Packet, tcp: &Tcp, from: Side, now: Instant) -> Step {
        let has_ack = tcp.flags.has(TcpFlags::ACK);
        if from == self.opener {
            if self.syn.tcp.seq == tcp.seq {
                self.syn.repeat(tcp);
            } else if !has_ack {
                let syn = Syn::new(packet, tcp, now);
                *self = Self { opener: from, syn, answer: None, is_refused: false };
            }
            return Step::Passes;
        }
        if !has_ack {
            // A simultaneous open.
            self.is_refused = true;
            return Step::Passes;
        }
        match &mut self.answer {
            _ if tcp.ack != self.syn.tcp.seq + 1 => {}
            Some(known) if known.tcp.seq == tcp.seq => known.repeat(tcp),
            answer => *answer = Some(Syn::new(packet, tcp, now)),
        }
        Step::Passes
    }

    /// The two legs that continue in the ends' places; `None` before the handshake was answered.
    /// `key` is the connection's direction from the core side to the radio side.
    pub fn pair(&self, key: FlowKey, core: Config, radio: Config) -> Option<Pair> {
        let answer = self.answer.as_ref()?;
        let leg = |side: Side, config: Config| {
            // The leg on the opener's side takes the place of the end that answered.
            let (ours, peers) = if side == self.opener { (answer, &self.syn) } else { (&self.syn, answer) };
            let (local, remote) = match side {
                Side::Core => (key.destination, key.source),
                Side::Radio => (key.source, key.destination),
            };
            let handshake = Handshake { ours: &ours.tcp, sent: ours.timed(), peers: &peers.tcp };
            let mut leg = Connection::adopt(config, local, remote, handshake, answer.at).ok()?;
            leg.stand_for(&ours.ip);
            Some(leg)
        };
        Some(Pair::in_the_ends_numbers(leg(Side::Core, core)?, leg(Side::Radio, radio)?))
    }
}
