//! A connection that one end asks for: the leg onward to the other end opens first, and its fate is
//! the answer.

use lasthop_agent::Side;
use lasthop_hop::split::Pair;
use lasthop_hop::split::legs::NO_END;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, TcpFlags};
use lasthop_tcp::connection::Endpoint;
use lasthop_tcp::{Config, Connection, State};

/// A SYN, and the leg onward that it has called for.
pub(super) struct Opening {
    /// Where the SYN came from.
    pub(super) opener: Side,
    pub(super) onward: Connection,
    pub(super) syn: Packet,
    /// The header of the latest packet of the end that is asked.
    pub(super) answer: Option<Ip>,
}

/// What has become of the leg onward.
pub(super) enum Outcome {
    /// Nothing yet.
    Waits,
    /// It is there: the other leg opens, too.
    Opened(Box<Pair>),
    /// It was refused: so is the end that asked.
    Refused(Box<Connection>),
}

/// The headers of IPv6 have 20 octets more.
fn fitting(config: &Config, (address, _): Endpoint) -> Config {
    let mss = if address.is_ipv4() { config.mss } else { config.mss - 20 };
    Config { mss, ..config.clone() }
}

impl Opening {
    /// An end wants a connection. `iss` is our initial sequence number towards the other one, which is
    /// offered no larger segments than the end that asks has offered to take: what bounds those, such as
    /// the MTU of a tunnel, may lie on our way to it, too.
    pub(super) fn new(key: FlowKey, mut syn: Packet, opener: Side, config: &Config, iss: Seq) -> Self {
        let (local, remote) = match opener {
            Side::Radio => (key.destination, key.source),
            Side::Core => (key.source, key.destination),
        };
        // Even an empty payload may keep its frame, which is not counted.
        syn.set_payload(Payload::EMPTY);
        let offered = syn.tcp().and_then(|tcp| tcp.options.maximum_segment_size).map_or(536, u32::from);
        let config = fitting(config, local);
        let config = Config { mss: config.mss.min(offered), ..config };
        let mut onward = Connection::connect(config, local, remote, iss);
        onward.stand_for(syn.ip());
        Self { opener, onward, syn, answer: None }
    }

    /// Takes in a packet of the end that is asked.
    pub(super) fn on_answer(&mut self, packet: &Packet, now: Instant) {
        self.answer = Some(*packet.ip());
        self.onward.on_segment(packet, now);
    }

    /// Octets of memory that one takes: its leg has a SYN to send.
    pub(super) fn memory(config: &Config) -> usize {
        let mut onward = Connection::connect(config.clone(), NO_END, NO_END, Seq(0));
        let _ = onward.poll_transmit(Instant::ZERO);
        size_of::<Self>() + onward.memory() + onward.overhead()
    }

    /// Whether a packet is the SYN once more.
    pub(super) fn is_repeated_by(&self, packet: &Packet) -> bool {
        let number = |packet: &Packet| packet.tcp().map(|tcp| (tcp.seq, tcp.flags.has(TcpFlags::SYN)));
        number(packet) == number(&self.syn)
    }

    /// Whether a packet shows that the ends know each other by their own numbers: the SYN had come to
    /// the other end before it came here, and passed; or it is forged, and they have had a connection all
    /// along. Only the end in whose name the SYN was knows which, and answers with a reset what it does
    /// not know (RFC 9293, section 3.5.1).
    pub(super) fn is_of_the_ends(&self, packet: &Packet, from: Side) -> bool {
        let (Some(tcp), Some(syn)) = (packet.tcp(), self.syn.tcp()) else { return false };
        if !tcp.flags.has(TcpFlags::ACK) || tcp.flags.has(TcpFlags::RST) {
            return false;
        }
        if from == self.opener {
            // Nothing has answered it from here.
            !tcp.flags.has(TcpFlags::SYN)
        } else {
            let answers_a_syn = tcp.flags.has(TcpFlags::SYN);
            tcp.ack != self.onward.iss() + 1 && (!answers_a_syn || tcp.ack == syn.seq + 1)
        }
    }

    /// What has become of it. `iss` is our initial sequence number towards the end that asked. Not to
    /// be asked again once it has an outcome.
    pub(super) fn outcome(&mut self, config: Config, iss: Seq, now: Instant) -> Outcome {
        let (local, remote) = (self.onward.remote(), self.onward.local());
        let stands = |mut back: Connection| {
            if let Some(ip) = &self.answer {
                back.stand_for(ip);
            }
            back
        };
        match self.onward.state() {
            State::SynSent | State::SynReceived => Outcome::Waits,
            State::Closed => {
                let mut back = stands(Connection::closed(config, local, remote));
                back.on_segment(&self.syn, now);
                Outcome::Refused(Box::new(back))
            }
            _ => {
                let mut back = stands(Connection::listen(fitting(&config, local), local, iss));
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
