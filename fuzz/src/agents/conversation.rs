//! What the hosts on both sides say: mostly as TCP would, with any field otherwise at times.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

use lasthop_agent::Side;
use lasthop_packet::quote::error_about;
use lasthop_packet::wire::{emit, parse};
use lasthop_packet::{
    FlowKey, Icmp, Instant, Ip, Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps,
    Transport, Udp,
};

use crate::octets::Octets;

/// Hosts on the core side, and on the radio side.
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub const PHONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
const SERVER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const PHONE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7));

const CONNECTIONS: usize = 3;
const SEGMENT: u32 = 1000;
/// Less than IP's length field holds, with headers.
const LONGEST: u32 = 60_000;
/// What LLE-TCP's agents tell each other is in the urgent pointer.
const MARK: u16 = 0x4c50;

/// Three connections.
pub struct Conversation {
    connections: [[Half; 2]; CONNECTIONS],
}

/// One direction of a connection.
#[derive(Clone, Copy)]
struct Half {
    key: FlowKey,
    stream: u32,
    /// The initial sequence number.
    base: Seq,
    /// What the other end has acknowledged.
    una: Seq,
    /// What comes next.
    next: Seq,
}

const DOWN: usize = 0;
const UP: usize = 1;

const fn way_from(side: Side) -> usize {
    match side {
        Side::Core => DOWN,
        Side::Radio => UP,
    }
}

impl Half {
    fn new(key: FlowKey, stream: u32, base: u32) -> Self {
        let base = Seq(base);
        Self { key, stream, base, una: base + 1, next: base + 1 }
    }

    /// Where in its stream the octet with this number is, whatever number that is.
    fn position(&self, seq: Seq) -> u64 {
        (1_u64 << 32)
            .wrapping_add(u64::from(self.base.0))
            .wrapping_add_signed(i64::from(seq.offset_from(self.base)))
    }

    fn payload_at(&self, seq: Seq, flags: TcpFlags, len: u32) -> Payload {
        Payload::Stream { stream: self.stream, offset: self.position(first_octet(seq, flags)), len }
    }
}

/// The number of a segment's first octet: behind its SYN.
fn first_octet(seq: Seq, flags: TcpFlags) -> Seq {
    seq + u32::from(flags.has(TcpFlags::SYN))
}

impl Conversation {
    pub fn new() -> Self {
        let connection = |stream, (server, server_port), (phone, phone_port), bases: [u32; 2]| {
            let key = FlowKey::tcp((server, server_port), (phone, phone_port));
            [Half::new(key, stream, bases[DOWN]), Half::new(key.reversed(), stream + 1, bases[UP])]
        };
        Self {
            connections: [
                connection(1, (SERVER, 80), (PHONE, 4000), [7_000_000, 1000]),
                connection(3, (SERVER, 443), (PHONE, 4001), [u32::MAX - 20_000, (1 << 31) - 3000]),
                connection(5, (SERVER_V6, 80), (PHONE_V6, 4002), [0, u32::MAX]),
            ],
        }
    }

    /// Every connection by its direction from the core to the radio side, and by the other one: a
    /// packet may come from the wrong side.
    pub fn keys(&self) -> impl Iterator<Item = FlowKey> {
        self.connections.iter().flatten().map(|half| half.key)
    }

    pub fn key(&self, octets: &mut Octets<'_>) -> FlowKey {
        self.connections[octets.below(CONNECTIONS)][usize::from(octets.octet() > 200)].key
    }

    /// Data that comes next, ten segments of it in one super-packet at most.
    pub fn data(&mut self, from: Side, octets: &mut Octets<'_>, now: Instant) -> Packet {
        let (connection, way) = (connection(octets), way_from(from));
        let kind = octets.octet();
        let half = self.connections[connection][way];
        let (segments, len) = match kind {
            0..=159 => (1, SEGMENT),
            160..=191 => (1, u32::from(kind - 159) * 10),
            _ => (u32::from(kind & 7) + 2, SEGMENT),
        };
        let seq = match kind & 15 {
            // The sender sends again what is outstanding.
            14 => half.una,
            // Something was lost before it came here.
            15 => half.next + SEGMENT,
            _ => half.next,
        };
        let tcp = Tcp { seq, flags: TcpFlags::ACK, ..self.header(connection, way, now) };
        let half = &mut self.connections[connection][way];
        half.next = half.next.later(seq + segments * len);
        self.packet(connection, way, tcp, segments * len, (segments > 1).then_some(len))
    }

    /// An acknowledgment of what came from the other side, with blocks of what arrived beyond.
    pub fn ack(&mut self, from: Side, octets: &mut Octets<'_>, now: Instant) -> Packet {
        let (connection, way) = (connection(octets), way_from(from));
        let (step, shape) = (octets.octet(), octets.octet());
        let data = &mut self.connections[connection][1 - way];
        let acked = data.una + u32::from(step & 15) * if step & 16 == 0 { SEGMENT } else { 100 };
        // Repeated, mostly where blocks come with it.
        data.una = if step & 32 == 0 { data.una.later(acked.earlier(data.next)) } else { data.una };
        let mut tcp = self.header(connection, way, now);
        if step & 128 != 0 {
            let mut at = tcp.ack + SEGMENT * (1 + u32::from(shape & 3));
            for _ in 0..=shape >> 2 & 3 {
                let end = at + SEGMENT * (1 + u32::from(shape >> 4 & 3));
                tcp.options.sack.push(at, end);
                at = end + SEGMENT * (1 + u32::from(shape >> 6));
            }
        }
        self.packet(connection, way, tcp, 0, None)
    }

    /// A segment of which every field may be anything, and is more often near what it should be.
    pub fn any(&mut self, from: Side, octets: &mut Octets<'_>, now: Instant) -> Packet {
        let connection = connection(octets);
        // Beyond a certain number it comes from the wrong side.
        let way = if octets.octet() > 240 { 1 - way_from(from) } else { way_from(from) };
        let mut tcp = self.header(connection, way, now);
        let [mine, other] = [way, 1 - way].map(|way| self.connections[connection][way]);
        tcp.seq = number(&mine, octets);
        tcp.ack = number(&other, octets);
        tcp.flags = match octets.octet() {
            0..=159 => TcpFlags::ACK,
            160..=175 => TcpFlags::ACK.with(TcpFlags::PSH),
            176..=191 => TcpFlags::ACK.with(TcpFlags::FIN),
            192..=207 => TcpFlags::SYN,
            208..=223 => TcpFlags::ACK.with(TcpFlags::SYN),
            _ => TcpFlags(octets.octet()),
        };
        tcp.window = match octets.octet() {
            0..=199 => tcp.window,
            200..=230 => 0,
            _ => octets.short(),
        };
        tcp.urgent_pointer = match octets.octet() {
            0..=99 => 0,
            100..=230 => MARK | u16::from(octets.octet() & 15),
            _ => octets.short(),
        };
        tcp.options = any_options(&other, tcp.options.timestamps, octets);
        let (len, segment) = match octets.octet() {
            0..=63 => (0, None),
            64..=99 => (1, None),
            100..=179 => (SEGMENT, None),
            180..=209 => (u32::from(octets.short()) % (3 * SEGMENT), None),
            210..=245 => (u32::from(octets.short()) % (9 * SEGMENT), Some(u32::from(octets.short()))),
            _ => (u32::from(octets.short()) % LONGEST, Some(u32::from(octets.short()))),
        };
        self.packet(connection, way, tcp, len, segment)
    }

    /// A step of a handshake, in both SYNs what is usual today; or an end.
    pub fn opening(&mut self, from: Side, octets: &mut Octets<'_>, now: Instant) -> Packet {
        let (connection, way) = (connection(octets), way_from(from));
        let mut tcp = self.header(connection, way, now);
        match octets.below(4) {
            end @ 0..2 => tcp.flags = [TcpFlags::FIN.with(TcpFlags::ACK), TcpFlags::RST][end],
            step => {
                tcp.flags = [TcpFlags::SYN, TcpFlags::SYN.with(TcpFlags::ACK)][step - 2];
                let half = &mut self.connections[connection][way];
                (half.una, half.next) = (half.base + 1, half.base + 1);
                tcp.seq = half.base;
                tcp.options.maximum_segment_size = Some(SEGMENT as u16);
                tcp.options.sack_permitted = true;
                tcp.options.window_scale = octets.pick(&[None, Some(0), Some(7), Some(255)]);
                tcp.urgent_pointer = octets.pick(&[0, MARK | 1, MARK | 4, MARK | 5]);
            }
        }
        self.packet(connection, way, tcp, 0, None)
    }

    /// A packet that no agent has any business with, or an ICMP message about a segment.
    pub fn no_segment(&self, from: Side, octets: &mut Octets<'_>) -> Packet {
        let half = self.connections[connection(octets)][way_from(from)];
        let ip = Ip::new(half.key.source.0, half.key.destination.0);
        let payload = Payload::Stream { stream: 9, offset: 0, len: u32::from(octets.octet()) };
        let transport = match octets.octet() {
            0..=79 => Transport::Udp(Udp { source_port: 53, destination_port: octets.short() }),
            80..=119 => Transport::Opaque { protocol: 50 },
            120..=199 => {
                let rest_of_header = octets.long().to_be_bytes();
                Transport::Icmp(Icmp { kind: octets.octet(), code: octets.octet(), rest_of_header })
            }
            _ => {
                let tcp = Tcp { seq: number(&half, octets), ..Tcp::default() };
                let about = Packet::tcp_segment(Ip::new(ip.destination, ip.source), tcp, payload);
                return error_about(&about, ip.source, octets.octet(), octets.octet()).unwrap_or(about);
            }
        };
        Packet::new(ip, transport, payload)
    }

    /// Whether a packet belongs to one of the connections, and carries the octets that belong
    /// there. Messages that are no segments are intact.
    pub fn is_intact(&self, packet: &Packet) -> bool {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return true };
        let Some(half) = self.connections.iter().flatten().find(|half| half.key == key) else { return false };
        let first = half.position(first_octet(tcp.seq, tcp.flags));
        let payload = packet.payload();
        // Half of the numbers away from where it began a stream has to break off somewhere.
        if let Payload::Stream { stream, offset, len } = payload {
            return *len == 0 || (*stream == half.stream && *offset as u32 == first as u32);
        }
        [first, first + (1 << 32), first.wrapping_sub(1 << 32)].into_iter().any(|offset| {
            *payload == Payload::Stream { stream: half.stream, offset, len: payload.len() as u32 }
        })
    }

    /// A plain ACK.
    fn header(&self, connection: usize, way: usize, now: Instant) -> Tcp {
        let [mine, other] = [way, 1 - way].map(|way| self.connections[connection][way]);
        let timestamps = Timestamps { value: now.as_millis() as u32, echo_reply: now.as_millis() as u32 };
        Tcp {
            source_port: mine.key.source.1,
            destination_port: mine.key.destination.1,
            seq: mine.next,
            ack: other.una,
            flags: TcpFlags::ACK,
            window: 30_000,
            urgent_pointer: 0,
            options: TcpOptions { timestamps: Some(timestamps), ..TcpOptions::default() },
        }
    }

    /// Every second packet is one that came in octets.
    fn packet(&self, connection: usize, way: usize, tcp: Tcp, len: u32, segment: Option<u32>) -> Packet {
        let half = &self.connections[connection][way];
        let payload = half.payload_at(tcp.seq, tcp.flags, len);
        let is_parsed = tcp.seq.0 % 2 == 1;
        let mut packet =
            Packet::tcp_segment(Ip::new(half.key.source.0, half.key.destination.0), tcp, payload);
        if is_parsed {
            packet = parse(emit(&packet)).expect("what we write is a packet");
        }
        packet.set_segment_size(
            segment.and_then(|size| NonZeroU16::new(size as u16)).filter(|size| u32::from(size.get()) < len),
        );
        packet
    }
}

/// The first connection more often than others: what is shared out among all is rarely near
/// anything.
fn connection(octets: &mut Octets<'_>) -> usize {
    octets.pick(&[0, 0, 0, 0, 0, 1, 1, 2])
}

/// A sequence number near the data of a direction, or any.
fn number(half: &Half, octets: &mut Octets<'_>) -> Seq {
    let kind = octets.octet();
    let from = if kind & 1 == 0 { half.una } else { half.next };
    match kind >> 1 {
        0..=47 => from,
        48..=63 => from + SEGMENT * u32::from(octets.octet() & 15),
        64..=79 => from + (SEGMENT * u32::from(octets.octet() & 15)).wrapping_neg(),
        80..=111 => from + u32::from(octets.short()) + (1_u32 << 15).wrapping_neg(),
        112..=119 => half.base,
        _ => Seq(octets.long()),
    }
}

fn any_options(data: &Half, timestamps: Option<Timestamps>, octets: &mut Octets<'_>) -> TcpOptions {
    let kind = octets.octet();
    let mut options = TcpOptions { timestamps, ..TcpOptions::default() };
    if kind & 1 != 0 {
        options.timestamps =
            octets.flag().then(|| Timestamps { value: octets.long(), echo_reply: u32::from(octets.short()) });
    }
    if kind & 2 != 0 {
        let mut sack = SackBlocks::NONE;
        for _ in 0..octets.below(5) {
            sack.push(number(data, octets), number(data, octets));
        }
        options.sack = sack;
    }
    if kind & 0x0c == 0x0c {
        options.window_scale = Some(octets.octet());
    }
    if kind & 0x30 == 0x30 {
        options.unknown = Some([30, 4, octets.octet(), octets.octet()].into());
    }
    options
}
