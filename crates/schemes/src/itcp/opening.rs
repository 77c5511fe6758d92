//! A connection that one end opens: the onward leg to the other end opens first, and its result is
//! the answer.

use lasthop_agent::Side;
use lasthop_hop::split::Pair;
use lasthop_hop::split::legs::NO_END;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, TcpFlags};
use lasthop_tcp::connection::Socket;
use lasthop_tcp::{Config, Connection, State};

/// A SYN, and the onward leg that it has started.
pub(super) struct Opening {
    /// The side that the SYN came from.
    pub(super) opener: Side,
    pub(super) onward: Connection,
    pub(super) syn: Packet,
    /// The IP header of the latest packet from the other end.
    pub(super) answer: Option<Ip>,
}

/// The state of the onward leg.
pub(super) enum Outcome {
    /// It is not decided yet.
    Waits,
    /// It is open: the opener's leg opens, too.
    Opened(Box<Pair>),
    /// It was refused: the opener is refused, too.
    Refused(Box<Connection>),
}

/// The configuration for a leg to this address: the headers of IPv6 have 20 more octets.
fn fitting(config: &Config, (address, _): Socket) -> Config {
    let mss = if address.is_ipv4() { config.mss } else { config.mss - 20 };
    Config { mss, ..config.clone() }
}

impl Opening {
    /// Starts the onward leg for a SYN. `iss` is its initial sequence number. The other end is
    /// offered no larger segments than the opener has offered to receive: a limit on those, such as
    /// the MTU of a tunnel, may be on the path between the agent and the opener.
    pub(super) fn new(key: FlowKey, mut syn: Packet, opener: Side, config: &Config, iss: Seq) -> Self {
        let (local, remote) = match opener {
            Side::Radio => (key.destination, key.source),
            Side::Core => (key.source, key.destination),
        };
        // Even an empty payload may hold its frame, whose memory is not counted.
        syn.set_payload(Payload::EMPTY);
        let offered = syn.tcp().and_then(|tcp| tcp.options.maximum_segment_size).map_or(536, u32::from);
        let config = fitting(config, local);
        let config = Config { mss: config.mss.min(offered), ..config };
        let mut onward = Connection::connect(config, local, remote, iss);
        onward.stand_for(syn.ip());
        Self { opener, onward, syn, answer: None }
    }

    /// Processes a packet from the other end.
    pub(super) fn on_answer(&mut self, packet: &Packet, now: Instant) {
        self.answer = Some(*packet.ip());
        self.onward.on_segment(packet, now);
    }

    /// Octets of memory of an opening: its leg has a SYN to send.
    pub(super) fn memory(config: &Config) -> usize {
        let mut onward = Connection::connect(config.clone(), NO_END, NO_END, Seq(0));
        let _ = onward.poll_transmit(Instant::ZERO);
        size_of::<Self>() + onward.memory() + onward.overhead()
    }

    /// Whether a packet is a repetition of the SYN.
    pub(super) fn is_repeated_by(&self, packet: &Packet) -> bool {
        let number = |packet: &Packet| packet.tcp().map(|tcp| (tcp.seq, tcp.flags.has(TcpFlags::SYN)));
        number(packet) == number(&self.syn)
    }

    /// Whether a packet shows that the ends use each other's own numbers: the SYN reached the other
    /// end before this agent received it; or it is forged, and they have a connection already. Only
    /// the apparent sender of the SYN knows which, and answers unknown segments with a reset (RFC
    /// 9293, section 3.5.1).
    pub(super) fn is_of_the_ends(&self, packet: &Packet, from: Side) -> bool {
        let (Some(tcp), Some(syn)) = (packet.tcp(), self.syn.tcp()) else { return false };
        if !tcp.flags.has(TcpFlags::ACK) || tcp.flags.has(TcpFlags::RST) {
            return false;
        }
        if from == self.opener {
            // The agent has not answered it.
            !tcp.flags.has(TcpFlags::SYN)
        } else {
            let answers_a_syn = tcp.flags.has(TcpFlags::SYN);
            tcp.ack != self.onward.iss() + 1 && (!answers_a_syn || tcp.ack == syn.seq + 1)
        }
    }

    /// The state of the onward leg. `iss` is the initial sequence number towards the opener. Must
    /// not be called again after a final result.
    pub(super) fn outcome(&mut self, config: Config, iss: Seq, now: Instant) -> Outcome {
        let (local, remote) = (self.onward.remote(), self.onward.local());
        let with_header = |mut back: Connection| {
            if let Some(ip) = &self.answer {
                back.stand_for(ip);
            }
            back
        };
        match self.onward.state() {
            State::SynSent | State::SynReceived => Outcome::Waits,
            State::Closed => {
                let mut back = with_header(Connection::closed(config, local, remote));
                back.on_segment(&self.syn, now);
                Outcome::Refused(Box::new(back))
            }
            _ => {
                let mut back = with_header(Connection::listen(fitting(&config, local), local, iss));
                back.on_segment(&self.syn, now);
                let onward = std::mem::replace(&mut self.onward, Connection::closed(config, remote, local));
                let (core, radio) = match self.opener {
                    Side::Radio => (onward, back),
                    Side::Core => (back, onward),
                };
                Outcome::Opened(Box::new(Pair::in_own_numbers(core, radio)))
            }
        }
    }
}
