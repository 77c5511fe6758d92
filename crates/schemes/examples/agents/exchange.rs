//! Turns of connections through an agent at the edge, and the hop.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent, LinkSenses, Side, Verdict};
use lasthop_packet::{Instant, Packet, Payload, Seq, TcpFlags};
use lasthop_schemes::catalog;
use lasthop_schemes::{Role, Seat};

use crate::hosts::{ACCESS_POINT, Connection, MSS, START, flow_of, header, mobile_host, packet};
use crate::seated::Seated;

/// Segments in a turn.
const BURST: u32 = 8;
/// The time between two turns of a connection.
const ROUND: Duration = Duration::from_millis(100);
/// The delay from the agent to the receiver and back.
const ECHO: Duration = Duration::from_millis(25);
/// The buffer of an ordinary frame in a gateway.
const FRAME_BUFFER: usize = lasthop_packet::buffer::SIZES[1];

/// The direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Down,
    Up,
}

/// Connections through an agent at the edge, with the scheme's agent at the mobile hosts' end, too.
pub struct Exchange {
    near: Seated,
    far: Seated,
    way: Direction,
    lost: u32,
    connections: Vec<Connection>,
    now: Instant,
    turn: u64,
    /// Data in flight to receivers.
    arriving: VecDeque<(Instant, Packet)>,
    /// An agent's output.
    sent: Vec<(Side, Packet)>,
    packets: u64,
    /// Whether data has real octets.
    has_octets: bool,
}

impl Exchange {
    pub fn new(
        scheme: &str,
        settings: &str,
        way: Direction,
        lost: u32,
        flows: u32,
        has_octets: bool,
    ) -> Self {
        let scheme = catalog::find(scheme).unwrap_or_else(|error| panic!("{error}"));
        let settings = toml::from_str(settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
        let placement = scheme.configure(settings).unwrap_or_else(|error| panic!("{error}"));
        let near = placement.agent(Seat { role: Role::Edge, address: ACCESS_POINT });
        let far = placement.agent(Seat { role: Role::MobileHost, address: mobile_host(0) });
        let far = far.filter(|_| way == Direction::Down);
        let mut near = Seated::new(near, None, flows);
        near.outbox.packets.reserve(64);
        let offered = LinkSenses::FRAME_FATE | LinkSenses::RETRIES | LinkSenses::ATTEMPTS;
        assert!(offered.contains(near.needs()));
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

    /// Performs every connection's handshake, from the client's SYN.
    pub fn open(&mut self) {
        for flow in 0..self.connections.len() as u32 {
            for (from, flags) in [
                (Side::Radio, TcpFlags::SYN),
                (Side::Core, TcpFlags::SYN.with(TcpFlags::ACK)),
                (Side::Radio, TcpFlags::ACK),
            ] {
                let mut tcp = header(from, self.now);
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

    /// Runs turns of the connections, one after the other.
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

    /// Delivers and acknowledges all data in flight.
    pub fn settle(&mut self) {
        self.turn += self.connections.len() as u64;
        self.advance_to(self.now + ROUND);
        for Connection { next, acknowledged, .. } in &self.connections {
            assert!(next - acknowledged <= 3 * BURST * MSS, "it has come to a halt at {acknowledged}");
        }
    }

    /// Sends a turn's segments of every connection.
    pub fn send_to_all(&mut self) {
        for flow in 0..self.connections.len() as u32 {
            self.send_turn(flow);
            self.arriving.clear();
        }
    }

    /// Starts the count of packets at 0 and of the agent's work, or stops it.
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

    /// Sends the segments that the peer misses, and new ones.
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
        let side = if self.way == Direction::Down { Side::Core } else { Side::Radio };
        let mut tcp = header(side, self.now);
        tcp.seq = START + from;
        let payload = if self.has_octets {
            Payload::Bytes(vec![0; FRAME_BUFFER].into()).slice(0, MSS as usize)
        } else {
            Payload::Stream { stream: 1, offset: from.into(), len: MSS }
        };
        let packet = packet(flow, side, tcp, payload);
        if self.way == Direction::Down || !self.is_lost_now(&packet) {
            self.originate(side, packet);
        }
    }

    /// Whether the hop loses a segment: only in its first transmission.
    fn is_lost_now(&mut self, packet: &Packet) -> bool {
        let (flow, Some(tcp)) = (flow_of(packet), packet.tcp()) else { return false };
        let from = tcp.seq - START;
        let is_first = self.connections[flow as usize].crosses(from);
        is_first && self.lost > 0 && (from / MSS + 37 * flow) % self.lost == self.lost / 2
    }

    /// Passes a packet to the edge's agent.
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
            if self.way == Direction::Up || to == Side::Core {
                self.connections[flow_of(&packet) as usize].on_ack(&packet);
            }
        } else if to == Side::Radio {
            // A SYN: the mobile host's agent sees it.
            self.pass_far(Side::Radio, packet);
        }
    }

    /// Whether a packet crosses the hop to the mobile host, which is reported to the edge's agent.
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
        // The agent's output for this frame follows the frame.
        !is_lost
    }

    /// Data reaches the other host.
    fn deliver(&mut self, packet: Packet) {
        match self.way {
            Direction::Down => self.pass_far(Side::Radio, packet),
            Direction::Up => self.receive(&packet),
        }
        self.send_near();
    }

    /// Passes a packet to the mobile host's agent.
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

    fn receive(&mut self, packet: &Packet) {
        let side = if self.way == Direction::Down { Side::Radio } else { Side::Core };
        if let Some(ack) = self.connections[flow_of(packet) as usize].receive(packet, side, self.now) {
            self.originate(side, ack);
        }
    }

    /// Sends a packet of a host: one from a mobile host crosses its own agent first.
    fn originate(&mut self, from: Side, packet: Packet) {
        match from {
            Side::Radio => self.pass_far(Side::Core, packet),
            Side::Core => self.pass(Side::Core, packet),
        }
    }
}
