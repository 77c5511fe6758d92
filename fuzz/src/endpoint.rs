//! Two TCP endpoints and a wire between them that does what it likes.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_packet::quote::error_about;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Timestamps};
use lasthop_tcp::{
    AckPolicy, Config, Congestion, Connection, DuplicateAckResponse, IcmpNotice, OutgoingAck, RackConfig,
    ReceiverControl, ReceiverExtension, Recovery, RtoConfig, RtoRule, SenderControl, SenderExtension,
    SlowStart, State, TimeoutResponse,
};

use crate::octets::Octets;

const ENDS: [(IpAddr, u16); 2] =
    [(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1), (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2)];
/// Packets on the wire in one direction; the oldest makes room.
const ON_THE_WIRE: usize = 256;
/// Of a window that is told with a scale, the peer may use up to a unit more (RFC 7323, section
/// 2.3).
const LARGEST_UNIT: usize = 1 << 14;

/// No segments, times and calls make an endpoint panic, alter or reorder data, hold more than its
/// window, run hot or send more than its window.
pub fn tcp_endpoint(data: &[u8]) {
    let mut octets = Octets(data);
    let mut bench = Bench::new(&mut octets);
    while !octets.is_empty() {
        bench.step(&mut octets);
    }
}

struct Bench {
    now: Instant,
    ends: [End; 2],
}

struct End {
    connection: Connection,
    window: u32,
    stream: u32,
    /// The number of the octet that is to be read next, once one was read.
    next: Option<Seq>,
    read: u64,
    /// On their way to it.
    arriving: VecDeque<Packet>,
    /// What it sent last.
    sent: Option<Packet>,
}

impl Bench {
    fn new(octets: &mut Octets<'_>) -> Self {
        let isses =
            octets.pick(&[[7_000_000, 1000], [u32::MAX - 3000, (1 << 31) - 3000], [0, u32::MAX]]).map(Seq);
        let configs = [config(octets), config(octets)];
        let opening = octets.below(4);
        let end = |at: usize, octets: &mut Octets<'_>| {
            let (here, there) = (configs[at].clone(), &configs[1 - at]);
            let connection = match (opening, at) {
                (0, 0) | (1, _) => Connection::connect(here, ENDS[at], ENDS[1 - at], isses[at]),
                (0 | 2, _) => Connection::listen(here, ENDS[at], isses[at]),
                _ => Connection::established(here, there, ENDS[at], ENDS[1 - at], isses[at], isses[1 - at]),
            };
            let whim = octets.flag().then(|| Whim(octets.long()));
            End {
                connection: connection
                    .with_sender_extension(whim.map(|whim| Box::new(whim) as Box<dyn SenderExtension>))
                    .with_receiver_extension(whim.map(|whim| Box::new(whim) as Box<dyn ReceiverExtension>)),
                window: configs[at].largest_window(),
                stream: at as u32 + 1,
                next: None,
                read: 0,
                arriving: VecDeque::new(),
                sent: None,
            }
        };
        let mut bench = Self { now: Instant::from_secs(1), ends: [end(0, octets), end(1, octets)] };
        bench.transmit(0);
        bench.transmit(1);
        bench
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let choice = octets.octet();
        let at = usize::from(choice >> 7);
        match choice & 31 {
            0..=2 => self.ends[at].write(u64::from(octets.octet()) * 100),
            3 => {
                self.ends[at].read();
            }
            4..=5 => while self.ends[at].read() {},
            6 => match octets.octet() {
                0..=199 => self.ends[at].connection.close(),
                200..=239 => self.ends[at].connection.discard_unsent(),
                _ => self.ends[at].connection.abort(),
            },
            7..=16 => {
                for _ in 0..=octets.below(16) {
                    let Some(packet) = self.ends[at].arriving.pop_front() else { break };
                    self.arrive(at, &packet);
                }
            }
            17..=18 => drop(self.ends[at].arriving.pop_front()),
            19..=20 => {
                // Early, and once more in its turn.
                let which = octets.octet();
                if let Some(packet) = self.ends[at].arriving.get(usize::from(which & 15)).cloned() {
                    self.arrive(at, &packet);
                }
                if which & 16 != 0 {
                    self.ends[at].arriving.remove(usize::from(which & 15));
                }
            }
            21..=23 => {
                let packet = self.ends[at].arriving.pop_front().unwrap_or_else(|| self.ends[1 - at].any());
                let packet = self.edited(at, packet, octets);
                self.arrive(at, &packet);
            }
            24..=26 => {
                let packet = self.ends[1 - at].any();
                let packet = self.edited(at, packet, octets);
                self.arrive(at, &packet);
            }
            27..=28 => self.wait(octets.time()),
            29..=30 => {
                let due = self.ends[at]
                    .connection
                    .deadline()
                    .map_or(self.now, |deadline| deadline.at.max(self.now));
                self.wait(due.since(self.now));
            }
            _ => {
                let about = self.ends[at].sent.as_ref();
                let message = about
                    .and_then(|about| error_about(about, ENDS[1 - at].0, octets.octet(), octets.octet()));
                if let Some(message) = message {
                    self.ends[at].connection.on_icmp(&message, self.now);
                }
            }
        }
        self.transmit(at);
    }

    fn arrive(&mut self, at: usize, packet: &Packet) {
        self.ends[at].connection.on_segment(packet, self.now);
        self.transmit(at);
    }

    /// A packet to one end with some fields changed, and the octets that belong to its number then.
    fn edited(&self, at: usize, mut packet: Packet, octets: &mut Octets<'_>) -> Packet {
        let (here, there) = (self.ends[at].connection.flight(), self.ends[1 - at].connection.flight());
        let mut len = packet.payload().len() as u32;
        let now = self.now.as_millis() as u32;
        let Some(tcp) = packet.tcp_mut() else { return packet };
        for _ in 0..=octets.below(4) {
            match octets.below(12) {
                0 => tcp.seq = near(tcp.seq, octets),
                1 => tcp.seq = near(there.una, octets),
                2 => tcp.ack = near(here.una, octets),
                3 => tcp.ack = near(here.max, octets),
                4 => tcp.flags = TcpFlags(octets.pick(&[0x10, 0x11, 0x02, 0x12, 0x14, 0x04, 0x18, 0x00])),
                5 => tcp.flags = TcpFlags(octets.octet()),
                6 => tcp.window = octets.pick(&[0, 1, 1000, u16::MAX]),
                7 => tcp.options.sack.push(near(here.una, octets), near(here.max, octets)),
                8 => {
                    let value = now.wrapping_add(u32::from(octets.octet())).wrapping_sub(128);
                    tcp.options.timestamps = octets.flag().then_some(Timestamps { value, echo_reply: value });
                }
                9 => len = octets.pick(&[0, 1, 500, 1460, 65_000]),
                10 => tcp.options.maximum_segment_size = Some(octets.short()),
                _ => tcp.options.window_scale = Some(octets.octet()),
            }
        }
        let first = tcp.seq + u32::from(tcp.flags.has(TcpFlags::SYN));
        packet.set_payload(self.ends[1 - at].payload_at(first, len));
        packet
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        for at in [0, 1] {
            self.transmit(at);
        }
        loop {
            let due = [0, 1].map(|at| self.ends[at].connection.deadline());
            let next = due.iter().flatten().map(|deadline| deadline.at).min().filter(|at| *at <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            for at in [0, 1] {
                self.ends[at].connection.on_deadline(self.now);
                self.transmit(at);
                let left = self.ends[at].connection.deadline();
                assert!(left.is_none_or(|left| left.at > self.now), "a busy loop: {left:?}");
            }
        }
        self.now = until;
    }

    /// Takes what an end sends, and looks at the end.
    fn transmit(&mut self, at: usize) {
        let before = self.ends[at].connection.flight().outstanding();
        let mut count = 0;
        while let Some(packet) = self.ends[at].connection.poll_transmit(self.now) {
            count += 1;
            self.ends[at].assert_sends(&packet);
            self.ends[at].sent = Some(packet.clone());
            let arriving = &mut self.ends[1 - at].arriving;
            if arriving.len() == ON_THE_WIRE {
                arriving.pop_front();
            }
            arriving.push_back(packet);
            // Options take room from a segment: four SACK blocks.
            let flight = self.ends[at].connection.flight();
            let room = flight.mss.saturating_sub(36).max(1);
            let most = 8 + 2 * before.max(flight.outstanding()).div_ceil(room);
            assert!(count <= most, "{count} packets at once: {flight:?}");
        }
        self.ends[at].assert_is_right();
    }
}

impl End {
    fn write(&mut self, octets: u64) {
        let (iss, una) = (self.connection.iss(), self.connection.flight().una);
        let acknowledged = if una == iss { 0 } else { una - (iss + 1) };
        let offset = position(iss, iss + 1) + u64::from(acknowledged) + self.connection.unacknowledged();
        self.connection.write_stream(self.stream, offset, octets);
    }

    /// Reads a piece; whether there was one.
    fn read(&mut self) -> bool {
        let Some(piece) = self.connection.read() else { return false };
        let Payload::Stream { stream, offset, len } = piece else { panic!("nobody sent octets: {piece:?}") };
        assert_eq!(stream, 3 - self.stream, "its own octets");
        let first = Seq(offset as u32);
        assert_eq!(self.next.unwrap_or(first), first, "octets are missing, doubled or out of order");
        self.next = Some(first + len);
        self.read += u64::from(len);
        assert!(len > 0 && self.read <= self.connection.stats().octets_received);
        true
    }

    fn payload_at(&self, first: Seq, len: u32) -> Payload {
        Payload::Stream { stream: self.stream, offset: position(self.connection.iss(), first), len }
    }

    /// A segment that this end could send.
    fn any(&self) -> Packet {
        let flight = self.connection.flight();
        let [here, there] = [self.connection.local(), ENDS[self.stream as usize % 2]];
        let tcp = Tcp {
            source_port: here.1,
            destination_port: there.1,
            seq: flight.max,
            flags: TcpFlags::ACK,
            window: u16::MAX,
            ..Tcp::default()
        };
        Packet::tcp_segment(Ip::new(here.0, there.0), tcp, Payload::EMPTY)
    }

    /// What it sends are the octets that were written, at their numbers, and outstanding from then
    /// on.
    fn assert_sends(&self, packet: &Packet) {
        let tcp = packet.tcp().expect("it sends segments");
        if packet.payload().is_empty() {
            return;
        }
        let Payload::Stream { stream, offset, .. } = packet.payload() else { panic!("{packet:?}") };
        assert_eq!((*stream, *offset as u32), (self.stream, tcp.seq.0), "{packet:?}");
        let flight = self.connection.flight();
        assert!(!tcp.seq.before(flight.una), "{packet:?}, {flight:?}");
        assert!(!(tcp.seq + packet.segment_len()).after(flight.max), "{packet:?}, {flight:?}");
    }

    fn assert_is_right(&self) {
        let (connection, flight) = (&self.connection, self.connection.flight());
        assert!(!flight.nxt.before(flight.una) && !flight.max.before(flight.nxt), "{flight:?}");
        let (syn, fin) = (1, 1);
        assert!(u64::from(flight.outstanding()) <= connection.unacknowledged() + syn + fin, "{flight:?}");
        assert!(flight.cwnd >= flight.mss && flight.mss > 0, "{flight:?}");
        let unread = connection.stats().octets_received - self.read;
        assert!(
            unread <= u64::from(self.window.max(1)) + LARGEST_UNIT as u64,
            "{unread} octets wait to be read"
        );
        assert!(connection.state() != State::Closed || connection.deadline().is_none());
    }
}

/// Where in its stream the octet with this number is.
fn position(iss: Seq, seq: Seq) -> u64 {
    (1_u64 << 32).wrapping_add(u64::from(iss.0)).wrapping_add_signed(i64::from(seq.offset_from(iss)))
}

fn near(number: Seq, octets: &mut Octets<'_>) -> Seq {
    let by = octets.octet();
    match by >> 5 {
        0 => number,
        1 => number + u32::from(by & 31),
        2 => number + u32::from(by & 31).wrapping_neg(),
        3 | 4 => number + 1460 * u32::from(by & 31),
        5 => number + (1460 * u32::from(by & 31)).wrapping_neg(),
        6 => number + u32::from(octets.short()),
        _ => Seq(octets.long()),
    }
}

fn config(octets: &mut Octets<'_>) -> Config {
    let delay = Duration::from_millis(100);
    let coarse = RtoConfig { granularity: Duration::from_millis(500), ..RtoConfig::default() };
    let mut config = Config {
        mss: octets.pick(&[1460, 1460, 1460, 65_495, 100, 1]),
        window: octets.pick(&[65_535, 65_535, 1 << 20, 1 << 30, 5000, 1]),
        timestamps: octets.flag(),
        sack: octets.flag(),
        congestion: octets.pick(&Congestion::ALL),
        recovery: octets.pick(&Recovery::ALL),
        limited_transmit: octets.flag(),
        initial_window: octets.pick(&[1, 10, 0]),
        initial_ssthresh: octets.pick(&[65_535, 4000, u32::MAX]),
        ack_policy: octets.pick(&[
            AckPolicy::EverySegment,
            AckPolicy::Delayed(delay),
            AckPolicy::DynDelAck(delay),
            AckPolicy::Linux,
        ]),
        rto: octets.pick(&[RtoConfig::default(), coarse]),
        max_timeouts: octets.pick(&[15, 4]),
        slow_start: octets.pick(&SlowStart::ALL),
        window_max: octets.pick(&[None, None, Some(1 << 30), Some(100_000)]),
        send_window: octets.pick(&[None, None, None, Some(3000), Some(0)]),
        ack_compression: octets.flag(),
        ..Config::default()
    };
    // The lowest bit is older than the others, which take no octet of their own: what follows in a file keeps its meaning.
    let bits = octets.octet();
    let is_on = |bit: u8| bits & (1 << bit) != 0;
    config.dsack = is_on(0);
    if let Recovery::Rack(parts) = &mut config.recovery {
        *parts = RackConfig {
            tail_loss_probe: !is_on(1),
            proportional_reduction: !is_on(2),
            f_rto: !is_on(3),
            undo: !is_on(4),
        };
    }
    config.window_validation = is_on(5);
    if is_on(6) {
        config.rto.rule = RtoRule::Linux;
    }
    (config.ecn, config.segmentation_offload) = (is_on(7), is_on(7));
    config
}

/// A scheme's part of a sender or of a receiver, without a reason: two bits for each answer.
#[derive(Clone, Copy)]
struct Whim(u32);

impl Whim {
    fn next(&mut self) -> u32 {
        self.0 = self.0.rotate_left(2);
        self.0 & 3
    }

    fn limit(&mut self, receiver: &mut ReceiverControl<'_>) {
        let limit = [None, Some(u32::MAX), Some(3000), Some(0)][self.next() as usize];
        if let Some(limit) = limit {
            receiver.limit_window(limit);
        }
    }
}

impl SenderExtension for Whim {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        match self.next() {
            0 => sender.restart_timer(),
            1 => {}
            _ => sender.retransmit(notice.seq),
        }
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        match self.next() {
            answer @ 0..2 if count >= 3 => {
                let cwnd = sender.flight().cwnd;
                DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: answer == 0 }
            }
            _ => DuplicateAckResponse::Standard,
        }
    }

    fn on_timeout(&mut self, _: &mut SenderControl<'_>) -> TimeoutResponse {
        if self.next() == 0 { TimeoutResponse::RetransmitOnly } else { TimeoutResponse::Standard }
    }
}

impl ReceiverExtension for Whim {
    fn on_segment(&mut self, _: &Packet, receiver: &mut ReceiverControl<'_>) {
        self.limit(receiver);
    }

    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        ack.set_reserved_bits(self.next() as u8);
        self.limit(receiver);
    }
}
