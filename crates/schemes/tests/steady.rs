//! An invariant of every agent in the catalog: on the steady path it does not allocate. A flow of
//! a million segments crosses a hop without loss, with the scheme's agents at both ends of it; its
//! ACKs return. A global allocator of this binary counts allocations, so that the count is the same
//! on every run and machine.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use allocation_counter::measure;
use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Outbox, Side, Verdict};
use lasthop_packet::{
    FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, TcpOptions, Timestamps,
};
use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::{Placement, Role, Scheme, Seat};

const SERVER: FlowKey = FlowKey::tcp((address(192, 1), 80), (address(10, 2), 4000));
const ACCESS_POINT: IpAddr = address(10, 1);
const MSS: u32 = 1448;

const fn address(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(network, 0, 0, host))
}

/// The airtime of a segment: 116 Mbit/s.
const TICK: Duration = Duration::from_micros(100);
/// The ticks of a packet's delay over the hop, and on the wired path between the access point and
/// the server.
const AIR: u64 = 10;
const WIRE: u64 = 50;

/// Segments until every table and queue has its maximum size.
const WARM_UP: u32 = 5_000;
const MILLION: u32 = 1_000_000;
/// For cases in which a million of each would take too long.
const FEWER: u32 = 20_000;

/// Schemes whose agents watch a connection. Those that terminate connections are in
/// `steady_splits.rs`: they need hosts that answer them.
fn watched() -> impl Iterator<Item = &'static &'static Scheme> {
    CATALOG.iter().filter(|scheme| !["i-tcp", "cicada", "as-tcp"].contains(&scheme.name))
}

#[test]
fn a_download_of_a_million_segments_allocates_nothing() {
    for scheme in watched() {
        check(scheme, "", Role::Edge, Direction::Down, 300, MILLION);
    }
}

/// Presets, relays, uploads, and senders that leave the hop idle at times; for less than a round
/// trip over it, after which an agent releases the memory of the connection.
#[test]
fn no_preset_allocates_at_any_place() {
    for scheme in watched() {
        for preset in presets(scheme) {
            for role in [Role::Edge, Role::Relay] {
                for way in [Direction::Down, Direction::Up] {
                    for window in [60, 300] {
                        check(scheme, &preset, role, way, window, FEWER);
                    }
                }
            }
        }
    }
}

/// The presets in a scheme's schema, and no preset.
fn presets(scheme: &Scheme) -> Vec<String> {
    let schema = scheme.schema().to_value();
    let kinds = schema["$defs"]["Preset"]["oneOf"].as_array().cloned().unwrap_or_default();
    let named = kinds.iter().filter_map(|kind| Some(format!("preset = {:?}", kind["const"].as_str()?)));
    std::iter::once(String::new()).chain(named).collect()
}

fn check(scheme: &Scheme, settings: &str, role: Role, way: Direction, window: u32, segments: u32) {
    let what = format!("{} {{{settings}}} at {}, {way:?}, {window} segments", scheme.name, role.name());
    let placement = scheme.configure(toml::from_str(settings).expect("a table")).expect("its own preset");
    let mut path = Path::new(placement.as_ref(), role, way, window);
    path.carry(WARM_UP);
    let allocated = measure(|| path.carry(WARM_UP + segments));
    assert_eq!((allocated.count_total, allocated.bytes_max), (0, 0), "{what}: {allocated:?}");
}

/// The direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

/// A server, the access point's agent, the air, the phone's agent, the phone.
struct Path {
    near: SeatedAgent,
    far: SeatedAgent,
    way: Direction,
    now: Instant,
    tick: u64,
    /// Downstream and upstream, each with the tick of its arrival.
    air: [VecDeque<(u64, Packet)>; 2],
    to_server: VecDeque<(u64, Packet)>,
    sender: Sender,
    /// The next octet that the receiver expects.
    expected: Seq,
    unacknowledged: u32,
}

/// A place for an agent, which may be empty.
struct SeatedAgent {
    agent: Option<Box<dyn Agent>>,
    neighbor: Option<IpAddr>,
    rng: Rng,
    outbox: Outbox,
}

struct Sender {
    next: Seq,
    acknowledged: Seq,
    window: u32,
}

const START: Seq = Seq(1001);

impl Path {
    fn new(placement: &dyn Placement, role: Role, way: Direction, window: u32) -> Self {
        let phone = SERVER.destination.0;
        let neighbor = (role != Role::Edge).then_some(phone);
        let near = Seat { role, address: ACCESS_POINT };
        let far = Seat { role: Role::MobileHost, address: phone };
        let queue = || VecDeque::with_capacity(2048);
        let mut path = Self {
            near: SeatedAgent::new(placement.agent(near), neighbor),
            far: SeatedAgent::new(placement.agent(far), Some(ACCESS_POINT)),
            way,
            now: Instant::from_secs(1),
            tick: 0,
            air: [queue(), queue()],
            to_server: queue(),
            sender: Sender { next: START, acknowledged: START, window: window * MSS },
            expected: START,
            unacknowledged: 0,
        };
        path.shake_hands();
        path
    }

    /// The server opens.
    fn shake_hands(&mut self) {
        let syn = |flags| {
            let options = TcpOptions {
                maximum_segment_size: Some(MSS as u16),
                window_scale: Some(7),
                sack_permitted: true,
                ..TcpOptions::default()
            };
            Tcp { seq: Seq(1000), ack: START, flags, options, ..Tcp::default() }
        };
        self.originate(Direction::Down, syn(TcpFlags::SYN), 0);
        self.advance(100);
        self.originate(Direction::Up, syn(TcpFlags::SYN.with(TcpFlags::ACK)), 0);
        self.advance(100);
        self.originate(Direction::Down, self.header(START), 0);
        self.advance(100);
    }

    /// Runs until this number of segments have arrived since the beginning.
    fn carry(&mut self, segments: u32) {
        let (until, max) = (START + segments * MSS, self.tick + 4 * u64::from(segments));
        while self.expected.before(until) {
            if self.sender.next - self.sender.acknowledged < self.sender.window {
                let tcp = Tcp { seq: self.sender.next, ..self.header(START) };
                self.sender.next += MSS;
                self.originate(self.way, tcp, MSS);
            }
            self.advance(1);
            assert!(self.tick < max, "it has come to a halt at {}", self.expected);
        }
    }

    fn advance(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            self.now += TICK;
            self.on_deadlines();
            for way in [Direction::Down, Direction::Up] {
                if let Some(packet) = due(&mut self.air[way as usize], self.tick) {
                    self.cross(way, packet);
                }
            }
            while let Some(packet) = due(&mut self.to_server, self.tick) {
                self.deliver(Direction::Up, &packet);
            }
        }
    }

    /// A host sends.
    fn originate(&mut self, way: Direction, mut tcp: Tcp, len: u32) {
        let key = if way == Direction::Down { SERVER } else { SERVER.reversed() };
        (tcp.source_port, tcp.destination_port) = (key.source.1, key.destination.1);
        let payload = Payload::Stream { stream: 1, offset: u64::from(tcp.seq.0), len };
        let packet = Packet::tcp_segment(Ip::new(key.source.0, key.destination.0), tcp, payload);
        self.pass(if way == Direction::Down { End::Near } else { End::Far }, Side::Core, packet);
    }

    /// Passes a packet from a side to an agent.
    fn pass(&mut self, end: End, from: Side, mut packet: Packet) {
        let now = self.now;
        let verdict =
            self.seat(end).call(now, Verdict::Forward, |agent, cx| agent.on_packet(&mut packet, from, cx));
        self.send(end);
        if verdict == Verdict::Forward {
            self.leave(end, from.opposite(), packet);
        }
    }

    /// A packet has crossed the air.
    fn cross(&mut self, way: Direction, packet: Packet) {
        let (from, to) = if way == Direction::Down { (End::Near, End::Far) } else { (End::Far, End::Near) };
        let now = self.now;
        let event = LinkEvent::Frame {
            packet: &packet,
            fate: Fate::Delivered,
            transmissions: 1,
            queueing: Duration::ZERO,
            access: None,
            air_time: TICK,
        };
        let seat = self.seat(from);
        if seat.agent.as_ref().is_some_and(|agent| agent.needs().contains(LinkSenses::FRAME_FATE)) {
            seat.call(now, (), |agent, cx| agent.on_link(&event, cx));
            self.send(from);
        }
        self.pass(to, Side::Radio, packet);
    }

    fn on_deadlines(&mut self) {
        for end in [End::Near, End::Far] {
            let now = self.now;
            let seat = self.seat(end);
            let due = seat.agent.as_ref().and_then(|agent| agent.deadline()).is_some_and(|due| due.at <= now);
            if due {
                seat.call(now, (), |agent, cx| agent.on_deadline(cx));
                self.send(end);
            }
        }
    }

    /// Sends the contents of an agent's outbox.
    fn send(&mut self, end: End) {
        let mut packets = std::mem::take(&mut self.seat(end).outbox.packets);
        for (to, packet) in packets.drain(..) {
            self.leave(end, to, packet);
        }
        self.seat(end).outbox.packets = packets;
    }

    fn leave(&mut self, end: End, to: Side, packet: Packet) {
        match (end, to) {
            (_, Side::Radio) => {
                let queue = &mut self.air[end as usize];
                let after = queue.back().map_or(0, |(last, _)| last + 1);
                queue.push_back((after.max(self.tick + AIR), packet));
            }
            (End::Near, Side::Core) => self.to_server.push_back((self.tick + WIRE, packet)),
            (End::Far, Side::Core) => self.deliver(Direction::Down, &packet),
        }
    }

    /// A packet reaches a host. The receiver acknowledges every second segment.
    fn deliver(&mut self, way: Direction, packet: &Packet) {
        let tcp = packet.tcp().expect("nobody sends anything else");
        if tcp.flags.has(TcpFlags::SYN) {
            return;
        }
        if way != self.way {
            self.sender.acknowledged = self.sender.acknowledged.later(tcp.ack);
        } else if packet.segment_len() > 0 {
            assert_eq!(tcp.seq, self.expected, "a hop without loss keeps the order");
            self.expected += packet.segment_len();
            self.unacknowledged += 1;
            if self.unacknowledged == 2 {
                self.unacknowledged = 0;
                let back = if way == Direction::Down { Direction::Up } else { Direction::Down };
                self.originate(back, self.header(self.expected), 0);
            }
        }
    }

    fn header(&self, ack: Seq) -> Tcp {
        let value = self.now.as_millis() as u32;
        let timestamps = Some(Timestamps { value, echo_reply: value });
        let options = TcpOptions { timestamps, ..TcpOptions::default() };
        Tcp { seq: START, ack, flags: TcpFlags::ACK, window: 10_000, options, ..Tcp::default() }
    }

    fn seat(&mut self, end: End) -> &mut SeatedAgent {
        if end == End::Near { &mut self.near } else { &mut self.far }
    }
}

/// The ends of the hop: at the access point, and at the phone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Near,
    Far,
}

impl SeatedAgent {
    fn new(agent: Option<Box<dyn Agent>>, neighbor: Option<IpAddr>) -> Self {
        Self { agent, neighbor, rng: Rng::named(1, "steady"), outbox: Outbox::default() }
    }

    fn call<R>(
        &mut self,
        now: Instant,
        without: R,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let Some(agent) = &mut self.agent else { return without };
        self.outbox.reports.clear();
        self.outbox.bypasses.clear();
        let cx = Context::new(now, &mut self.rng, &mut self.outbox);
        f(agent.as_mut(), &mut cx.with_neighbor(self.neighbor))
    }
}

/// The next packet, if it arrives by this tick.
fn due(queue: &mut VecDeque<(u64, Packet)>, tick: u64) -> Option<Packet> {
    queue
        .front()
        .is_some_and(|(at, _)| *at <= tick)
        .then(|| queue.pop_front())
        .flatten()
        .map(|(_, packet)| packet)
}
