//! Senders and receivers on both sides of an agent.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent, LinkSenses, Side, Verdict};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, TcpOptions, Timestamps};
use lasthop_schemes::catalogue;
use lasthop_schemes::{Role, Seat};

use crate::seated::Seated;

const MSS: u32 = 1448;
/// Segments in a turn.
const BURST: u32 = 8;
/// Each connection has a turn in this time.
const ROUND: Duration = Duration::from_millis(100);
/// From the agent to the receiver and back.
const ECHO: Duration = Duration::from_millis(25);
/// What an ordinary frame lies in where a gateway has read it.
const FRAME_BUFFER: usize = lasthop_packet::buffer::SIZES[1];
const START: Seq = Seq(1001);
const SERVER: IpAddr = address([192, 0, 2, 1]);
const ACCESS_POINT: IpAddr = address([192, 0, 2, 254]);

const fn address([a, b, c, d]: [u8; 4]) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// Where the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Down,
    Up,
}

/// Connections through an agent at the edge, with the scheme's agent at the mobile hosts' end, too.
pub struct Exchange {
    near: Seated,
    far: Seated,
    way: Way,
    lost: u32,
    connections: Vec<Connection>,
    now: Instant,
    turn: u64,
    /// Data on its way to receivers.
    arriving: VecDeque<(Instant, Packet)>,
    /// What an agent has sent.
    sent: Vec<(Side, Packet)>,
    packets: u64,
    /// Whether data has octets of its own.
    has_octets: bool,
}

/// Both ends of a connection; numbers of octets from [`START`].
#[derive(Clone, Copy, Default)]
struct Connection {
    /// The sender's next segment, and the first that is not acknowledged.
    next: u32,
    acknowledged: u32,
    /// Where that begins which has not been on the hop.
    crossed: u32,
    /// What the receiver waits for, and the end of what it has.
    expected: u32,
    highest: u32,
    /// A segment waits for its ACK.
    is_waiting: bool,
}

impl Exchange {
    pub fn new(scheme: &str, settings: &str, way: Way, lost: u32, flows: u32, has_octets: bool) -> Self {
        let scheme = catalogue::find(scheme).unwrap_or_else(|error| panic!("{error}"));
        let settings = toml::from_str(settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
        let placement = scheme.configure(settings).unwrap_or_else(|error| panic!("{error}"));
        let near = placement.agent(Seat { role: Role::Edge, address: ACCESS_POINT });
        let far = placement.agent(Seat { role: Role::MobileHost, address: address([10, 0, 0, 1]) });
        let far = far.filter(|_| way == Way::Down);
        let mut near = Seated::new(near, None, flows);
        near.outbox.packets.reserve(64);
        assert!((LinkSenses::FRAME_FATE | LinkSenses::ATTEMPTS).contains(near.needs()));
        Self {
            near,
            far: Seated::new(far, Some(ACCESS_POINT), flows),
            way,
            lost,
            connections: vec![Connection::default(); flows as usize],
            now: Instant::from_secs(1),
            turn: 0,
            arriving: VecDeque::with_capacity((flows as usize + 4) * 2 * BURST as usize),
            sent: Vec::with_capacity(64),
            packets: 0,
            has_octets,
        }
    }

    /// Every connection's handshake, from the client's SYN.
    pub fn open(&mut self) {
        for flow in 0..self.connections.len() as u32 {
            for (from, flags) in [
                (Side::Radio, TcpFlags::SYN),
                (Side::Core, TcpFlags::SYN.with(TcpFlags::ACK)),
                (Side::Radio, TcpFlags::ACK),
            ] {
                let mut tcp = self.header(from, START);
                (tcp.seq, tcp.flags) = (START, flags);
                if flags.has(TcpFlags::SYN) {
                    tcp.seq = Seq(START.0 - 1);
                    tcp.options.maximum_segment_size = Some(MSS as u16);
                    tcp.options.window_scale = Some(7);
                    tcp.options.sack_permitted = true;
                }
                self.originate(from, packet(flow, from, tcp, Payload::EMPTY));
            }
        }
    }

    /// Connections have their turns, one after the other.
    pub fn take_turns(&mut self, turns: u32) {
        let flows = self.connections.len() as u64;
        for _ in 0..turns {
            let flow = (self.turn % flows) as u32;
            self.turn += 1;
            let next = Instant::from_secs(1) + ROUND.mul_f64(self.turn as f64 / flows as f64);
            self.send_turn(flow);
            self.advance_to(next);
        }
    }

    /// What is on its way arrives and is acknowledged.
    pub fn settle(&mut self) {
        self.turn += self.connections.len() as u64;
        self.advance_to(self.now + ROUND);
        for Connection { next, acknowledged, .. } in &self.connections {
            assert!(next - acknowledged <= 3 * BURST * MSS, "it has come to a halt at {acknowledged}");
        }
    }

    /// Every connection has a turn's segments in the air.
    pub fn send_to_all(&mut self) {
        for flow in 0..self.connections.len() as u32 {
            self.send_turn(flow);
            self.arriving.clear();
        }
    }

    /// From now on packets are counted, from 0, with what the agent does; or nothing is.
    pub fn count(&mut self, is_counted: bool) {
        (self.near.is_counted, self.packets) = (is_counted, 0);
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    pub fn into_state(self) -> (i64, usize) {
        drop(self.arriving);
        self.near.into_state()
    }

    fn advance_to(&mut self, until: Instant) {
        while let Some((at, _)) = self.arriving.front()
            && *at <= until
            && let Some((at, packet)) = self.arriving.pop_front()
        {
            self.now = self.now.max(at);
            self.deliver(packet);
        }
        self.now = until;
        if self.near.is_due(until) {
            self.near.ask(until, (), |agent, cx| agent.on_deadline(cx));
            self.send_near();
        }
        if self.far.is_due(until) {
            self.far.ask(until, (), |agent, cx| agent.on_deadline(cx));
            self.send_far();
        }
    }

    /// A sender sends what its peer misses, and new segments.
    fn send_turn(&mut self, flow: u32) {
        let at = flow as usize;
        let Connection { next, acknowledged, .. } = self.connections[at];
        if acknowledged < next {
            self.send(flow, acknowledged);
        }
        for _ in 0..BURST {
            let next = self.connections[at].next;
            self.connections[at].next += MSS;
            self.send(flow, next);
        }
    }

    fn send(&mut self, flow: u32, from: u32) {
        let side = if self.way == Way::Down { Side::Core } else { Side::Radio };
        let mut tcp = self.header(side, START);
        tcp.seq = START + from;
        let payload = if self.has_octets {
            Payload::Bytes(vec![0; FRAME_BUFFER].into()).slice(0, MSS as usize)
        } else {
            Payload::Stream { stream: 1, offset: from.into(), len: MSS }
        };
        let packet = packet(flow, side, tcp, payload);
        if self.way == Way::Down || !self.is_lost_now(&packet) {
            self.originate(side, packet);
        }
    }

    /// Whether the hop loses a segment: only when it is first on it.
    fn is_lost_now(&mut self, packet: &Packet) -> bool {
        let (flow, Some(tcp)) = (flow_of(packet), packet.tcp()) else { return false };
        let (from, connection) = (tcp.seq - START, &mut self.connections[flow as usize]);
        let is_first = from >= connection.crossed;
        connection.crossed = connection.crossed.max(from + MSS);
        is_first && self.lost > 0 && (from / MSS + 37 * flow) % self.lost == self.lost / 2
    }

    /// The edge's agent is asked about a packet.
    fn pass(&mut self, from: Side, mut packet: Packet) {
        self.packets += 1;
        let verdict =
            self.near.ask(self.now, Verdict::Forward, |agent, cx| agent.on_packet(&mut packet, from, cx));
        self.send_near();
        if verdict == Verdict::Forward {
            self.leave(from.opposite(), packet);
        }
    }

    fn send_near(&mut self) {
        if self.near.outbox.packets.is_empty() {
            return;
        }
        let mut sent = std::mem::take(&mut self.sent);
        sent.append(&mut self.near.outbox.packets);
        for (to, packet) in sent.drain(..) {
            self.leave(to, packet);
        }
        self.sent = sent;
    }

    /// A packet leaves the edge.
    fn leave(&mut self, to: Side, packet: Packet) {
        let is_data =
            packet.segment_len() > 0 && packet.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::SYN));
        if to == Side::Radio && !self.cross(&packet, is_data) {
            return;
        }
        if is_data {
            self.arriving.push_back((self.now + ECHO, packet));
        } else if packet.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::SYN)) {
            if self.way == Way::Up || to == Side::Core {
                self.on_ack(&packet);
            }
        } else if to == Side::Radio {
            // A SYN: the mobile host's agent sees it.
            self.pass_far(Side::Radio, packet);
        }
    }

    /// Whether a packet gets over the hop to the mobile host; the edge's agent hears of it.
    fn cross(&mut self, packet: &Packet, is_data: bool) -> bool {
        let is_lost = is_data && self.is_lost_now(packet);
        let needs = self.near.needs();
        let now = self.now;
        if needs.contains(LinkSenses::ATTEMPTS) {
            let event = LinkEvent::Attempt { packet, transmission: 1, began: now, is_confirmed: !is_lost };
            self.near.ask(now, (), |agent, cx| agent.on_link(&event, cx));
        }
        if needs.contains(LinkSenses::FRAME_FATE) {
            let fates: &[Fate] =
                if is_lost { &[Fate::FirstTransmissionFailed, Fate::GivenUp] } else { &[Fate::Delivered] };
            for fate in fates {
                let event = LinkEvent::Frame {
                    packet,
                    fate: *fate,
                    transmissions: 1,
                    queueing: Duration::ZERO,
                    access: None,
                    air_time: Duration::from_micros(100),
                };
                self.near.ask(now, (), |agent, cx| agent.on_link(&event, cx));
            }
        }
        // What it says of this frame comes behind the frame.
        !is_lost
    }

    /// Data reaches the other host.
    fn deliver(&mut self, packet: Packet) {
        match self.way {
            Way::Down => self.pass_far(Side::Radio, packet),
            Way::Up => self.receive(&packet),
        }
        self.send_near();
    }

    /// The mobile host's agent is asked about a packet.
    fn pass_far(&mut self, from: Side, mut packet: Packet) {
        let verdict =
            self.far.ask(self.now, Verdict::Forward, |agent, cx| agent.on_packet(&mut packet, from, cx));
        self.send_far();
        if verdict == Verdict::Forward {
            self.leave_far(from.opposite(), packet);
        }
    }

    fn send_far(&mut self) {
        let mut packets = std::mem::take(&mut self.far.outbox.packets);
        for (to, packet) in packets.drain(..) {
            self.leave_far(to, packet);
        }
        self.far.outbox.packets = packets;
    }

    fn leave_far(&mut self, to: Side, packet: Packet) {
        match to {
            Side::Radio => self.pass(Side::Radio, packet),
            Side::Core => self.receive(&packet),
        }
    }

    /// A receiver acknowledges every second segment in order, and each that is not, at once.
    fn receive(&mut self, packet: &Packet) {
        let (flow, length) = (flow_of(packet), packet.segment_len());
        let Some(tcp) = packet.tcp().filter(|tcp| length > 0 && !tcp.flags.has(TcpFlags::SYN)) else {
            return;
        };
        let connection = &mut self.connections[flow as usize];
        let (from, end) = (tcp.seq - START, tcp.seq + length - START);
        let is_in_order = from == connection.expected && connection.highest <= from;
        if from > connection.expected {
            connection.highest = connection.highest.max(end);
        } else if end > connection.expected {
            connection.expected = end.max(connection.highest);
        }
        connection.highest = connection.highest.max(connection.expected);
        connection.is_waiting = is_in_order && !connection.is_waiting;
        if connection.is_waiting {
            return;
        }
        let Connection { expected, highest, .. } = *connection;
        let side = if self.way == Way::Down { Side::Radio } else { Side::Core };
        let mut ack = self.header(side, START + expected);
        if let (Some(of_data), Some(own)) = (tcp.options.timestamps, &mut ack.options.timestamps) {
            own.echo_reply = of_data.value;
        }
        if highest > expected {
            // One segment is missing.
            ack.options.sack.push(START + expected + MSS, START + highest);
        }
        let ack = packet_of(flow, side, ack);
        self.originate(side, ack);
    }

    /// A host sends: what is from a mobile host crosses its own agent first.
    fn originate(&mut self, from: Side, packet: Packet) {
        match from {
            Side::Radio => self.pass_far(Side::Core, packet),
            Side::Core => self.pass(Side::Core, packet),
        }
    }

    fn on_ack(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        let connection = &mut self.connections[flow_of(packet) as usize];
        connection.acknowledged = connection.acknowledged.max(tcp.ack - START);
    }

    fn header(&self, from: Side, ack: Seq) -> Tcp {
        let value = self.now.as_millis() as u32;
        let options = TcpOptions {
            timestamps: Some(Timestamps { value, echo_reply: value.saturating_sub(25) }),
            ..TcpOptions::default()
        };
        let ports = if from == Side::Core { (443, 50_000) } else { (50_000, 443) };
        Tcp {
            source_port: ports.0,
            destination_port: ports.1,
            seq: START,
            ack,
            flags: TcpFlags::ACK,
            window: 4000,
            options,
            ..Tcp::default()
        }
    }
}

fn packet_of(flow: u32, from: Side, tcp: Tcp) -> Packet {
    packet(flow, from, tcp, Payload::EMPTY)
}

fn packet(flow: u32, from: Side, tcp: Tcp, payload: Payload) -> Packet {
    let [_, b, c, d] = (flow + 1).to_be_bytes();
    let client = address([10, b, c, d]);
    let (source, destination) = if from == Side::Core { (SERVER, client) } else { (client, SERVER) };
    Packet::tcp_segment(Ip::new(source, destination), tcp, payload)
}

/// Which connection a packet belongs to, by the mobile host's address.
fn flow_of(packet: &Packet) -> u32 {
    let FlowKey { source, destination } = packet.flow_key().expect("only TCP is sent through here");
    let client = if source.0 == SERVER { destination.0 } else { source.0 };
    let IpAddr::V4(client) = client else { return 0 };
    let [_, b, c, d] = client.octets();
    u32::from_be_bytes([0, b, c, d]) - 1
}
