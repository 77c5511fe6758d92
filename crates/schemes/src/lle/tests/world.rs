//! Two real TCP endpoints, a wired path, a hop whose link layer sometimes gives up, and agents at
//! both ends of it that may fail at any time: all data arrives in the end.

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED};
use lasthop_agent::{Accounts as _, Owed, Scope, Transfer as _};
use lasthop_config::preset::Presets as _;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use lasthop_packet::{Probability, Rng};
use lasthop_tcp::{AckPolicy, Config, Connection, RackConfig, Recovery, State};
use proptest::prelude::*;

use super::*;

const SERVER_END: (IpAddr, u16) = (SERVER, 80);
const PHONE_END: (IpAddr, u16) = (PHONE, 4000);
const ISS: Seq = Seq(u32::MAX - 20_000);
const AIR_TIME: Duration = Duration::from_millis(1);
const WIRE: Duration = Duration::from_millis(5);

/// The faults.
#[derive(Clone, Debug)]
struct Trouble {
    /// The probability of loss of a transmission on the air.
    loss: f64,
    /// The probability of loss of a packet on the wired path.
    wire_loss: f64,
    /// The probability that the link layer confirms a packet that the phone's TCP does not receive.
    swallowed: f64,
    /// When which agent is removed, or comes back.
    failures: Vec<(u64, bool, bool)>,
    /// Whether an agent's state moves to another one, instead of a failure.
    moves: bool,
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    ToServer,
    ToAccessPoint,
    Down,
    Up,
}

struct World {
    now: Instant,
    rng: Rng,
    server: Connection,
    phone: Connection,
    at_access_point: Option<Lle>,
    at_phone: Option<Lle>,
    settings: Settings,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    number: u64,
    to_server: VecDeque<Packet>,
    to_access_point: VecDeque<Packet>,
    down: VecDeque<Packet>,
    up: VecDeque<Packet>,
    trouble: Trouble,
    /// The server's data delivered by the link layer, counted from its ISS.
    confirmed: BTreeMap<u32, u32>,
    read: [u64; 2],
    /// The phone's data that is not written yet.
    upwards: u64,
    has_died: bool,
    generated: u32,
    lost: u32,
}

impl World {
    fn new(settings: Settings, config: Config, octets: [u64; 2], trouble: Trouble) -> Self {
        let mut server = Connection::connect(config.clone(), SERVER_END, PHONE_END, ISS);
        let phone = Connection::listen(config, PHONE_END, Seq(77));
        server.write_stream(1, 0, octets[0]);
        server.close();
        Self {
            now: Instant::from_secs(1),
            rng: Rng::named(trouble.seed, "world"),
            server,
            phone,
            at_access_point: Some(Lle::new(settings.clone(), Role::Edge)),
            at_phone: Some(Lle::new(settings.clone(), Role::MobileHost)),
            settings,
            events: BinaryHeap::new(),
            number: 0,
            to_server: VecDeque::new(),
            to_access_point: VecDeque::new(),
            down: VecDeque::new(),
            up: VecDeque::new(),
            trouble,
            confirmed: BTreeMap::new(),
            read: [0; 2],
            upwards: octets[1],
            has_died: false,
            generated: 0,
            lost: 0,
        }
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.rng.happens(Probability::new(probability).expect("it is one"))
    }

    fn at(&mut self, delay: Duration, event: Event) {
        self.number += 1;
        self.events.push(Reverse((self.now + delay, self.number, event)));
    }

    fn on_wire(&mut self, packet: Packet, event: Event) {
        if self.happens(self.trouble.wire_loss) {
            return;
        }
        match event {
            Event::ToServer => self.to_server.push_back(packet),
            _ => self.to_access_point.push_back(packet),
        }
        self.at(WIRE, event);
    }

    fn on_air(&mut self, packet: Packet, event: Event) {
        let queue = if event == Event::Down { &mut self.down } else { &mut self.up };
        queue.push_back(packet);
        if queue.len() == 1 {
            self.at(AIR_TIME, event);
        }
    }

    /// Another agent continues with the exported state of one.
    fn hand_over(&mut self, is_phone: bool) {
        let mut states = Vec::new();
        self.call(is_phone, |lle, cx| {
            states = lle.export(Scope::All, cx);
            assert_eq!((lle.held(), lle.octets(), lle.owed()), (0, 0, Owed::default()), "nothing is left");
            None
        });
        let role = if is_phone { Role::MobileHost } else { Role::Edge };
        let fresh = Lle::new(self.settings.clone(), role);
        *(if is_phone { &mut self.at_phone } else { &mut self.at_access_point }) = Some(fresh);
        self.call(is_phone, |lle, cx| {
            for state in &states {
                assert_eq!(lle.import(state, cx), Ok(()));
            }
            None
        });
    }

    /// Calls an agent, if it is alive, and sends its packets.
    fn call(
        &mut self,
        is_phone: bool,
        f: impl FnOnce(&mut Lle, &mut Context<'_>) -> Option<(Side, Packet)>,
    ) -> bool {
        let agent = if is_phone { &mut self.at_phone } else { &mut self.at_access_point };
        let Some(lle) = agent else { return false };
        let mut outbox = Outbox::default();
        let neighbor = if is_phone { ACCESS_POINT } else { PHONE };
        let cx = Context::new(self.now, &mut self.rng, &mut outbox);
        let passed = f(lle, &mut cx.with_neighbor(Some(neighbor)));
        for report in outbox.reports {
            self.generated += u32::from(report.counter == &ACKS_GENERATED);
            self.lost += u32::from(report.counter == &ACKNOWLEDGED_AND_LOST);
        }
        for (to, packet) in outbox.packets.into_iter().chain(passed) {
            self.leave(is_phone, to, packet);
        }
        true
    }

    /// A packet leaves an agent's node to one side.
    fn leave(&mut self, is_phone: bool, to: Side, packet: Packet) {
        match (is_phone, to) {
            (false, Side::Core) => self.on_wire(packet, Event::ToServer),
            (false, Side::Radio) => self.on_air(packet, Event::Down),
            (true, Side::Radio) => self.on_air(packet, Event::Up),
            (true, Side::Core) => {
                if self.happens(self.trouble.swallowed) {
                    return;
                }
                self.phone.on_segment(&packet, self.now);
            }
        }
    }

    fn cross(&mut self, is_phone: bool, from: Side, packet: &Packet) {
        let mut passing = packet.clone();
        let lives = self.call(is_phone, |lle, cx| {
            (lle.on_packet(&mut passing, from, cx) == Verdict::Forward).then_some((from.opposite(), passing))
        });
        if !lives {
            self.leave(is_phone, from.opposite(), packet.clone());
        }
    }

    /// The transmission of the head of a queue has ended.
    fn aired(&mut self, event: Event) {
        let queue = if event == Event::Down { &mut self.down } else { &mut self.up };
        let Some(packet) = queue.pop_front() else { return };
        if !queue.is_empty() {
            self.at(AIR_TIME, event);
        }
        let is_down = event == Event::Down;
        let arrives = (0..3).any(|_| !self.happens(self.trouble.loss));
        if let Some(tcp) = packet.tcp().filter(|_| arrives && is_down) {
            let end = self.confirmed.entry(tcp.seq - ISS).or_default();
            *end = (*end).max(tcp.seq - ISS + packet.segment_len());
        }
        if arrives {
            self.cross(is_down, Side::Radio, &packet);
        }
        let fate = if arrives { Fate::Delivered } else { Fate::GivenUp };
        let (queueing, air_time) = (Duration::ZERO, AIR_TIME);
        let frame =
            LinkEvent::Frame { packet: &packet, fate, transmissions: 1, queueing, access: None, air_time };
        self.call(!is_down, |lle, cx| {
            lle.on_link(&frame, cx);
            None
        });
    }

    fn confirmed_to(&self) -> u32 {
        self.confirmed.iter().fold(0, |to, (start, end)| if *start <= to { to.max(*end) } else { to })
    }

    fn receive(&mut self, packet: &Packet) {
        let tcp = packet.tcp().expect("TCP");
        // If an agent has failed, the other one learns it with the next packet.
        assert!(self.has_died || Mark::from_segment(tcp) == Mark::NONE, "marks stay on the hop");
        if tcp.flags.has(TcpFlags::ACK) {
            assert!(tcp.ack - ISS <= self.confirmed_to(), "an ACK of what the link layer did not deliver");
        }
        self.server.on_segment(packet, self.now);
    }

    fn pump(&mut self) {
        if self.phone.state() == State::Established {
            self.phone.write_stream(2, 0, std::mem::take(&mut self.upwards));
        }
        while let Some(packet) = self.server.poll_transmit(self.now) {
            self.on_wire(packet, Event::ToAccessPoint);
        }
        while let Some(packet) = self.phone.poll_transmit(self.now) {
            self.cross(true, Side::Core, &packet);
        }
        for (end, stream) in [(0, 1), (1, 2)] {
            loop {
                let host = if end == 0 { &mut self.phone } else { &mut self.server };
                let Some(payload) = host.read() else { break };
                let len = payload.len() as u32;
                assert_eq!(payload, Payload::Stream { stream, offset: self.read[end], len });
                self.read[end] += u64::from(len);
            }
        }
    }

    /// Runs for at most this time.
    fn run(&mut self, seconds: u64, octets: [u64; 2]) {
        let end = self.now + Duration::from_secs(seconds);
        let mut failures = std::mem::take(&mut self.trouble.failures);
        failures.sort_unstable();
        let mut failures: VecDeque<_> = failures.into();
        self.pump();
        while self.read != octets {
            let agents =
                [&self.at_access_point, &self.at_phone].map(|agent| agent.as_ref().and_then(Lle::deadline));
            let due = agents.into_iter().chain([self.server.deadline(), self.phone.deadline()]);
            let due = due.flatten().map(|deadline| deadline.at);
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let death = failures.front().map(|(ms, ..)| Instant::from_secs(1) + Duration::from_millis(*ms));
            let Some(next) = due.chain(event).chain(death).min().filter(|next| *next <= end) else { return };
            self.now = self.now.max(next);
            if let Some((_, is_phone, revives)) = failures.front().copied().filter(|_| death == Some(next)) {
                failures.pop_front();
                if self.trouble.moves {
                    self.hand_over(is_phone);
                    continue;
                }
                self.has_died = true;
                let role = if is_phone { Role::MobileHost } else { Role::Edge };
                let agent = revives.then(|| Lle::new(self.settings.clone(), role));
                *(if is_phone { &mut self.at_phone } else { &mut self.at_access_point }) = agent;
            }
            if event == Some(next) {
                match self.events.pop().map(|Reverse((.., event))| event) {
                    Some(Event::ToServer) => {
                        let packet = self.to_server.pop_front().expect("one for each event");
                        self.receive(&packet);
                    }
                    Some(Event::ToAccessPoint) => {
                        let packet = self.to_access_point.pop_front().expect("one for each event");
                        self.cross(false, Side::Core, &packet);
                    }
                    Some(event) => self.aired(event),
                    None => {}
                }
            }
            self.server.on_deadline(self.now);
            self.phone.on_deadline(self.now);
            for is_phone in [false, true] {
                self.call(is_phone, |lle, cx| {
                    lle.on_deadline(cx);
                    None
                });
            }
            self.pump();
        }
    }
}

fn config() -> impl Strategy<Value = Config> {
    let ack_policy =
        prop_oneof![Just(AckPolicy::EverySegment), Just(AckPolicy::Delayed(Duration::from_millis(40))),];
    let recovery = proptest::sample::select(vec![
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Rack(RackConfig::ALL),
    ]);
    (any::<(bool, bool)>(), recovery, 4000u32..300_000, ack_policy).prop_map(
        |((timestamps, sack), recovery, window, ack_policy)| Config {
            mss: 1000,
            timestamps,
            sack,
            window,
            ack_policy,
            recovery,
            max_timeouts: 1000,
            ..Config::default()
        },
    )
}

fn trouble(swallowed: f64) -> impl Strategy<Value = Trouble> {
    (0.0..0.6, prop_oneof![Just(0.0), 0.0..0.05], any::<u64>()).prop_map(move |(loss, wire_loss, seed)| {
        Trouble { loss, wire_loss, swallowed, failures: Vec::new(), moves: false, seed }
    })
}

fn acks() -> impl Strategy<Value = DeliveryAcks> {
    proptest::sample::select(vec![DeliveryAcks::EverySegment, DeliveryAcks::Delayed, DeliveryAcks::DynDelAck])
}

fn failures() -> impl Strategy<Value = Vec<(u64, bool, bool)>> {
    proptest::collection::vec((0u64..1500, any::<bool>(), any::<bool>()), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_data_arrives_though_agents_fail(
        config in config(), trouble in trouble(0.0), failures in failures(), published in any::<bool>(), up in 0u64..60_000,
        selective_acks in any::<bool>(), acks in acks(),
    ) {
        let settings = if published { Settings::published() } else { Settings::default() };
        let settings = Settings { acks, selective_acks, ..settings };
        // As published, upstream data loses its ACK bit, and is then dropped.
        let octets = [300_000, if published { 0 } else { up }];
        let mut world = World::new(settings, config, octets, Trouble { failures, ..trouble });
        world.run(20_000, octets);
        prop_assert_eq!(world.read, octets);
        prop_assert_eq!(world.lost, 0);
    }

    #[test]
    fn all_data_arrives_though_state_moves_to_other_agents(
        config in config(), trouble in trouble(0.03), failures in failures(), up in 0u64..60_000, buffer in any::<bool>(),
        selective_acks in any::<bool>(), acks in acks(),
    ) {
        let sender_buffer = if buffer { 30_000 } else { 0 };
        let settings = Settings { acks, selective_acks, sender_buffer, ..Settings::default() };
        let octets = [300_000, up];
        let mut world = World::new(settings, config, octets, Trouble { failures, moves: true, ..trouble });
        world.run(20_000, octets);
        prop_assert_eq!(world.read, octets);
        prop_assert_eq!(world.lost, 0);
    }

    #[test]
    fn all_data_arrives_though_tcp_misses_delivered_frames(
        config in config(), trouble in trouble(0.03), up in 0u64..60_000, selective_acks in any::<bool>(),
        acks in acks(),
    ) {
        let octets = [300_000, up];
        let settings = Settings { acks, selective_acks, ..Settings::default() };
        let mut world = World::new(settings, config, octets, trouble);
        world.run(20_000, octets);
        prop_assert_eq!(world.read, octets);
        prop_assert_eq!(world.lost, 0);
    }
}

#[test]
fn as_published_delivered_frames_that_tcp_misses_are_lost_and_counted() {
    let trouble =
        Trouble { loss: 0.1, wire_loss: 0.0, swallowed: 0.03, failures: Vec::new(), moves: false, seed: 1 };
    let config = Config { mss: 1000, sack: true, ..Config::default() };
    let mut world = World::new(Settings::published(), config, [3_000_000, 0], trouble);
    world.run(2000, [3_000_000, 0]);
    assert!(world.read[0] < 3_000_000 && world.generated > 10 && world.lost > 0);
}
