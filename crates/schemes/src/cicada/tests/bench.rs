//! One agent, and hand-made packets.

use lasthop_agent::{Accounts, Agent, Obligation, Side, Transfer, Verdict};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};

use super::seat::Seat;
use super::world::KEY;
use crate::cicada::{Cicada, Settings};
use crate::edits::But as _;

/// Initial numbers of the fixed and of the mobile host: data begins one after them.
pub const FIXED_ISS: u32 = 1000;
pub const MOBILE_ISS: u32 = 5000;

/// An agent on the bench.
pub struct Bench {
    pub seat: Seat,
    pub now: Instant,
}

/// The verdict on a packet, and the agent's own packets.
#[derive(Debug)]
pub struct Step {
    pub verdict: Option<Verdict>,
    pub sent: Vec<(Side, Packet)>,
}

impl Step {
    pub fn is_forwarded(&self) -> bool {
        self.verdict == Some(Verdict::Forward)
    }

    /// The packets sent to a side, as lines.
    pub fn to(&self, side: Side) -> Vec<String> {
        self.sent.iter().filter(|(to, _)| *to == side).map(|(_, packet)| line(packet)).collect()
    }
}

/// "FA 1001+500 ack 5001": flags, number and length, acknowledgment number.
fn line(packet: &Packet) -> String {
    let Some(tcp) = packet.tcp() else { return String::new() };
    let flags = [(TcpFlags::FIN, 'F'), (TcpFlags::SYN, 'S'), (TcpFlags::RST, 'R'), (TcpFlags::ACK, 'A')];
    let flags: String =
        flags.iter().filter(|(flag, _)| tcp.flags.has(*flag)).map(|(_, letter)| *letter).collect();
    format!("{flags} {}+{} ack {}", tcp.seq, packet.payload().len(), tcp.ack)
}

impl Bench {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let mut seat = Seat::new(settings);
        seat.is_watched = false;
        Self { seat, now: Instant::from_secs(1) }
    }

    /// With a connection that the fixed host has opened, both SYNs edited.
    pub fn opened_with(edit: impl Fn(Packet) -> Packet) -> Self {
        Self::new().open(edit)
    }

    fn open(mut self, edit: impl Fn(Packet) -> Packet) -> Self {
        assert!(self.core(&edit(syn())).is_forwarded());
        assert!(self.radio(&edit(answer())).is_forwarded());
        self
    }

    /// With a connection, and its handshake complete.
    pub fn split() -> Self {
        Self::split_with(Settings::default())
    }

    pub fn split_with(settings: Settings) -> Self {
        let mut bench = Self::with(settings).open(|syn| syn);
        assert!(!bench.core(&fixed(1001, 0, 5001)).is_forwarded());
        bench
    }

    /// The world was absent.
    pub fn return_to(&mut self) {
        self.seat.call(self.now, Transfer::on_return).expect("there is an agent");
    }

    pub fn core(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Core)
    }

    pub fn radio(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Radio)
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> Step {
        let mut passing = packet.clone();
        let (verdict, sent) = self
            .seat
            .call(self.now, |agent, cx| agent.on_packet(&mut passing, from, cx))
            .expect("there is an agent");
        assert!(verdict != Verdict::Forward || passing == *packet, "it edits nothing");
        Step { verdict: Some(verdict), sent }
    }

    /// Time passes.
    pub fn wait(&mut self, millis: u64) -> Step {
        let end = Instant::from_millis(self.now.as_millis() + millis);
        let mut sent = Vec::new();
        while let Some(at) = self.seat.deadline().map(|deadline| deadline.at).filter(|at| *at <= end) {
            self.now = self.now.max(at);
            sent.extend(self.seat.call(self.now, Cicada::on_deadline).map_or(Vec::new(), |((), sent)| sent));
        }
        self.now = end;
        Step { verdict: None, sent }
    }

    pub fn obligation(&self) -> Obligation {
        self.seat.agent.as_ref().map_or(Obligation::Free, |agent| agent.obligation(KEY))
    }
}

fn packet(from: (FlowKey, u32, u32), seq: u32, len: u32, flags: TcpFlags, ack: u32) -> Packet {
    let (key, stream, iss) = from;
    let tcp = Tcp {
        source_port: key.source.1,
        destination_port: key.destination.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 65_535,
        ..Tcp::default()
    };
    let payload = Payload::Stream { stream, offset: u64::from(seq.wrapping_sub(iss + 1)), len };
    Packet::tcp_segment(Ip::new(key.source.0, key.destination.0), tcp, payload)
}

/// A segment of the fixed host.
pub fn fixed(seq: u32, len: u32, ack: u32) -> Packet {
    packet((KEY, 0, FIXED_ISS), seq, len, TcpFlags::ACK, ack)
}

/// A segment of the mobile host.
pub fn mobile(seq: u32, len: u32, ack: u32) -> Packet {
    packet((KEY.reversed(), 1, MOBILE_ISS), seq, len, TcpFlags::ACK, ack)
}

/// The fixed host opens.
pub fn syn() -> Packet {
    fixed(FIXED_ISS, 0, 0).but(|tcp| {
        tcp.flags = TcpFlags::SYN;
        tcp.options.maximum_segment_size = Some(1460);
    })
}

/// The mobile host answers.
pub fn answer() -> Packet {
    let (seq, ack) = (MOBILE_ISS, FIXED_ISS + 1);
    mobile(seq, 0, ack).flags(TcpFlags::SYN).but(|tcp| tcp.options.maximum_segment_size = Some(1460))
}
