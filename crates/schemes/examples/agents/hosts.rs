//! The two ends of a connection, and their packets.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, TcpOptions, Timestamps};

pub const MSS: u32 = 1448;
/// The number of the first octet in both directions.
pub const START: Seq = Seq(1001);
pub const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Both ends of a connection; numbers of octets from [`START`].
#[derive(Clone, Copy, Default)]
pub struct Connection {
    /// The sender's next segment, and the first unacknowledged one.
    pub next: u32,
    pub acknowledged: u32,
    /// The start of the data that has not been on the hop.
    crossed: u32,
    /// The next expected number of the receiver, and the end of its data.
    expected: u32,
    highest: u32,
    /// Whether a segment waits for its delayed ACK.
    is_waiting: bool,
}

impl Connection {
    /// Records a segment on the hop. Returns whether it is there for the first time.
    pub fn crosses(&mut self, from: u32) -> bool {
        let is_first = from >= self.crossed;
        self.crossed = self.crossed.max(from + MSS);
        is_first
    }

    /// Delivers an ACK to the sender.
    pub fn on_ack(&mut self, ack: &Packet) {
        let number = ack.tcp().map_or(0, |tcp| tcp.ack - START);
        self.acknowledged = self.acknowledged.max(number);
    }

    /// The receiver's ACK: of every second segment in order, and at once of each out of order. At
    /// most one segment is missing at a time.
    pub fn receive(&mut self, data: &Packet, from: Side, now: Instant) -> Option<Packet> {
        let length = data.segment_len();
        let tcp = data.tcp().filter(|tcp| length > 0 && !tcp.flags.has(TcpFlags::SYN))?;
        let (begin, end) = (tcp.seq - START, tcp.seq + length - START);
        let is_in_order = begin == self.expected && self.highest <= begin;
        if begin > self.expected {
            self.highest = self.highest.max(end);
        } else if end > self.expected {
            self.expected = end.max(self.highest);
        }
        self.highest = self.highest.max(self.expected);
        self.is_waiting = is_in_order && !self.is_waiting;
        if self.is_waiting {
            return None;
        }
        let mut ack = header(from, now);
        ack.ack = START + self.expected;
        if let (Some(of_data), Some(own)) = (tcp.options.timestamps, &mut ack.options.timestamps) {
            own.echo_reply = of_data.value;
        }
        if self.highest > self.expected {
            ack.options.sack.push(START + self.expected + MSS, START + self.highest);
        }
        Some(packet(flow_of(data), from, ack, Payload::EMPTY))
    }
}

/// The header of a segment from a side without traffic so far.
pub fn header(from: Side, now: Instant) -> Tcp {
    let value = now.as_millis() as u32;
    let options = TcpOptions {
        timestamps: Some(Timestamps { value, echo_reply: value.saturating_sub(25) }),
        ..TcpOptions::default()
    };
    let (source_port, destination_port) = if from == Side::Core { (443, 50_000) } else { (50_000, 443) };
    Tcp {
        source_port,
        destination_port,
        seq: START,
        ack: START,
        flags: TcpFlags::ACK,
        window: 4000,
        options,
        ..Tcp::default()
    }
}

/// A packet of a connection: each has its own mobile host.
pub fn packet(flow: u32, from: Side, tcp: Tcp, payload: Payload) -> Packet {
    let client = mobile_host(flow);
    let (source, destination) = if from == Side::Core { (SERVER, client) } else { (client, SERVER) };
    Packet::tcp_segment(Ip::new(source, destination), tcp, payload)
}

pub fn mobile_host(flow: u32) -> IpAddr {
    let [_, b, c, d] = (flow + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}

/// The connection of a packet.
pub fn flow_of(packet: &Packet) -> u32 {
    let FlowKey { source, destination, .. } = packet.flow_key().expect("only TCP is sent through here");
    let client = if source.0 == SERVER { destination.0 } else { source.0 };
    let IpAddr::V4(client) = client else { return 0 };
    let [_, b, c, d] = client.octets();
    u32::from_be_bytes([0, b, c, d]) - 1
}
