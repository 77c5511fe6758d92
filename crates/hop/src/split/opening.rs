//! A handshake that passes from end to end, and the legs that take its place once it is complete.
//!
//! Until then every packet passes: a SYN that is refused, or never answered, is the ends' business.

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, Handshake};

use super::carried;
use super::pair::Pair;
use crate::handshake::{is_syn, opening};

/// A segment with a number further behind the handshake is another connection's, or forged.
const FURTHEST: u32 = 1 << 20;

/// What was seen of a handshake.
#[derive(Debug)]
pub struct Opening {
    /// Where the SYN came from.
    opener: Side,
    syn: Seen,
    answer: Option<Seen>,
    /// It is left alone, whatever comes of it again.
    is_refused: bool,
}

/// A SYN.
#[derive(Debug)]
struct Seen {
    /// Without options that are not known here: all of it is of one size.
    tcp: Tcp,
    /// The header before it.
    ip: Ip,
    /// When it came first.
    at: Instant,
    /// It came more than once: what answers it times nothing.
    is_repeated: bool,
    has_data: bool,
    /// It asks for, or agrees to, what a split does not carry on ([`carried`]). In the ends' numbers only
    /// what both agree to counts: what the answer has.
    agrees_to_more: bool,
}

/// What a packet is to a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A part of it, or none of its business: it passes.
    Passes,
    /// It completes the handshake: both ends have established the connection, or will with this
    /// packet.
    Completes,
}

impl Seen {
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

    /// It came again: its timestamp is the latest that the other end has seen.
    fn repeat(&mut self, tcp: &Tcp) {
        self.is_repeated = true;
        if let (Some(known), Some(other)) = (&mut self.tcp.options.timestamps, tcp.options.timestamps)
            && Seq(other.value).after(Seq(known.value))
        {
            *known = other;
        }
    }

    /// When it came, if its answer times a round trip.
    fn timed(&self) -> Option<Instant> {
        (!self.is_repeated).then_some(self.at)
    }
}

impl Opening {
    /// A SYN came; `None` if the packet is none that opens a connection.
    pub fn begin(packet: &Packet, from: Side, now: Instant) -> Option<Self> {
        let tcp = packet.tcp()?;
        if opening(packet).is_none() || !carried::is_between_hosts(packet) {
            return None;
        }
        Some(Self { opener: from, syn: Seen::new(packet, tcp, now), answer: None, is_refused: false })
    }

    /// Where the SYN came from.
    pub const fn opener(&self) -> Side {
        self.opener
    }

    /// Whether it is left alone.
    pub const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The initial sequence number of the end that opens.
    pub const fn initial_number(&self) -> Seq {
        self.syn.tcp.seq
    }

    /// Takes note of a packet of this connection.
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
                // What the ends have said unseen would be in no leg's account.
                self.is_refused = self.is_behind(tcp, from);
                Step::Passes
            }
        }
    }

    /// Whether this is the third segment of the handshake, or the same number with data.
    fn is_completed_by(&self, tcp: &Tcp, from: Side, answer: &Seen) -> bool {
        from == self.opener && tcp.seq == self.syn.tcp.seq + 1 && tcp.ack == answer.tcp.seq + 1
    }

    /// Whether a segment comes after the handshake, which is complete unseen: because the agent
    /// was not there yet, or has forgotten a part of it for others.
    fn is_behind(&self, tcp: &Tcp, from: Side) -> bool {
        let first = self.syn.tcp.seq + 1;
        let number = if from == self.opener { tcp.seq } else { tcp.ack };
        !number.before(first) && number - first < FURTHEST
    }

    fn on_syn(&mut self, packet: &Packet, tcp: &Tcp, from: Side, now: Instant) -> Step {
        let has_ack = tcp.flags.has(TcpFlags::ACK);
        if from == self.opener {
            if self.syn.tcp.seq == tcp.seq {
                self.syn.repeat(tcp);
            } else if !has_ack {
                let syn = Seen::new(packet, tcp, now);
                *self = Self { opener: from, syn, answer: None, is_refused: false };
            }
            return Step::Passes;
        }
        if !has_ack {
            // Both ends open at once.
            self.is_refused = true;
            return Step::Passes;
        }
        match &mut self.answer {
            _ if tcp.ack != self.syn.tcp.seq + 1 => {}
            Some(known) if known.tcp.seq == tcp.seq => known.repeat(tcp),
            answer => *answer = Some(Seen::new(packet, tcp, now)),
        }
        Step::Passes
    }

    /// The two legs that go on in the ends' places; `None` before the handshake was answered. `key`
    /// is the connection's direction from the core side to the radio side.
    pub fn pair(&self, key: FlowKey, core: Config, radio: Config) -> Option<Pair> {
        let answer = self.answer.as_ref()?;
        let leg = |side: Side, config: Config| {
            // The leg on the opener's side stands for the end that answered.
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
