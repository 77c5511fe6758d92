//! An invariant of every agent in the catalog: its reported memory is its allocated memory,
//! including tables and the spare room in them. Hosts exchange data through the agent over many
//! connections; a global allocator of this binary counts what is allocated and freed while the
//! agent works.
//!
//! An agent counts some allocations with their maximum: hash tables, timers, copies, the buffers of
//! payloads. So it may report more than it has allocated, by at most a fifth of that and 16 KiB. It
//! reports at least what it has allocated, less a fiftieth (the reference count of each buffer) and
//! 16 KiB (outboxes between layers, which are as large as the output of one call).

/// The scheme of the tutorial "Your first scheme".
#[path = "../../scenario/tests/first_scheme"]
mod tutorial {
    pub mod ack_thinning;
}

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use allocation_counter::measure;
use bytes::Bytes;
use lasthop_agent::{Agent, Budget, Context, Fate, LinkEvent, Outbox, Side, Verdict};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Transport, Udp};
use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::{Role, Scheme, Seat};
use lasthop_tcp::{Config, Connection, State};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const ACCESS_POINT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CONNECTIONS: usize = 240;
const PER_HOST: usize = 4;
/// The first octets of each end.
const OCTETS: u64 = 6_000;
const STEP: Duration = Duration::from_millis(5);
const MAX_ABOVE: (i64, i64) = (5, 16 << 10);
const MAX_BELOW: (i64, i64) = (50, 16 << 10);

struct World {
    name: String,
    agent: Box<dyn Agent>,
    is_host: bool,
    budget: Budget,
    outbox: Outbox,
    rng: Rng,
    now: Instant,
    allocated: i64,
    /// The server's end of each connection and the mobile host's.
    ends: Vec<[Connection; 2]>,
    queue: VecDeque<(Side, Packet)>,
    /// One of this number of data segments is lost on the hop; 0: none.
    loses: usize,
    crossed: usize,
    /// Cases in which it has reported too much or too little.
    wrong: Vec<String>,
}

fn mobile(number: usize) -> (IpAddr, u16) {
    (
        IpAddr::V4(Ipv4Addr::from_bits(0x0a01_0000 + (number / PER_HOST) as u32)),
        (40_000 + number % PER_HOST) as u16,
    )
}

fn server(number: usize) -> (IpAddr, u16) {
    (SERVER, 1000 + (number / PER_HOST) as u16)
}

/// The presets in a scheme's schema, the settings that enable its optional parts, and no settings.
fn settings(scheme: &Scheme) -> Vec<String> {
    let schema = scheme.schema().to_value();
    let kinds = schema["$defs"]["Preset"]["oneOf"].as_array().cloned().unwrap_or_default();
    let named = kinds.iter().filter_map(|kind| Some(format!("preset = {:?}", kind["const"].as_str()?)));
    let parts = ["uplink = \"nack\"", "sender-buffer = \"100 kB\"", "least-interval = \"1 s\""];
    let parts = parts.iter().filter(|part| {
        let key = part.split(' ').next().unwrap_or_default();
        !schema["properties"][key].is_null()
    });
    std::iter::once(String::new()).chain(named).chain(parts.map(ToString::to_string)).collect()
}

/// With octets in a buffer, like a packet from a port.
fn give_octets(packet: &mut Packet) {
    if !packet.payload().is_empty() {
        let mut octets = Vec::with_capacity(packet.sizes().buffer);
        octets.resize(packet.payload().len(), 7);
        packet.set_payload(Payload::Bytes(octets.into()));
    }
}

/// Without octets.
fn take_octets(packet: &mut Packet) {
    let len = packet.payload().len() as u32;
    if len > 0 {
        packet.set_payload(Payload::Stream { stream: 1, offset: 0, len });
    }
}

fn is_for_mobile(packet: &Packet) -> bool {
    packet.ip().source == SERVER
}

/// Octets as a signed number, for comparison.
fn signed(octets: usize) -> i64 {
    octets.try_into().expect("it fits")
}

impl World {
    fn new(scheme: &Scheme, settings: &str, role: Role, budget: Budget) -> Option<Self> {
        let name = format!("{} {{{settings}}} at {}", scheme.name, role.name());
        let placement = scheme.configure(toml::from_str(settings).expect("a table")).expect(&name);
        let mut agent = None;
        let allocated = measure(|| agent = placement.agent(Seat { role, address: ACCESS_POINT }));
        // The agent itself, in its box.
        let agent = agent?;
        let itself = signed(size_of_val(&*agent));
        let ends = (0..CONNECTIONS).map(|number| {
            let (host, server) = (mobile(number), server(number));
            let mut config = Config::linux();
            // Some with all options, some with none.
            (config.sack, config.timestamps) = (number % 3 > 0, number % 2 > 0);
            let of_server = Connection::listen(config.clone(), server, Seq(7));
            [of_server, Connection::connect(config, host, server, Seq(9))]
        });
        let outbox = Outbox {
            packets: Vec::with_capacity(65_536),
            reports: Vec::with_capacity(65_536),
            bypasses: Vec::with_capacity(65_536),
            left_alone: Vec::with_capacity(65_536),
            messages: Vec::with_capacity(65_536),
            attached: None,
        };
        Some(Self {
            name,
            agent,
            is_host: role == Role::MobileHost,
            budget,
            outbox,
            rng: Rng::named(1, "memory"),
            now: Instant::from_secs(1),
            allocated: allocated.bytes_current - itself,
            ends: ends.collect(),
            queue: VecDeque::new(),
            loses: 0,
            crossed: 0,
            wrong: Vec::new(),
        })
    }

    /// Calls the agent, and counts its allocations, and the octets of packets that it keeps.
    fn call<R>(
        &mut self,
        neighbor: Option<IpAddr>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let (agent, outbox, rng) = (self.agent.as_mut(), &mut self.outbox, &mut self.rng);
        let (now, budget, mut result) = (self.now, self.budget, None);
        let counted = measure(|| {
            let cx = Context::new(now, rng, outbox).within(budget);
            result = Some(f(agent, &mut cx.with_neighbor(neighbor)));
            // Its output does not belong to it any more.
            outbox.packets.iter_mut().for_each(|(_, packet)| take_octets(packet));
        });
        self.queue.extend(self.outbox.packets.drain(..));
        self.outbox.reports.clear();
        self.outbox.bypasses.clear();
        self.outbox.left_alone.clear();
        let messages = measure(|| self.outbox.messages.clear());
        self.allocated += counted.bytes_current + messages.bytes_current;
        result.expect("it was called")
    }

    /// Passes a packet from a side to the agent.
    fn show(&mut self, mut packet: Packet, from: Side) {
        let neighbor = Some(if self.is_host { ACCESS_POINT } else { packet.ip().destination });
        let verdict = self.call(neighbor, |agent, cx| {
            give_octets(&mut packet);
            let verdict = agent.on_packet(&mut packet, from, cx);
            take_octets(&mut packet);
            verdict
        });
        if verdict == Verdict::Forward {
            self.queue.push_back((from.opposite(), packet));
        }
    }

    /// Delivers a packet: over the hop with link-layer reports, or over the wired path.
    fn deliver(&mut self, to: Side, packet: &Packet) {
        if to == Side::Radio {
            self.crossed += usize::from(packet.segment_len() > 0);
            let is_lost =
                self.loses > 0 && packet.segment_len() > 0 && self.crossed.is_multiple_of(self.loses);
            let fate = if is_lost { Fate::GivenUp } else { Fate::Delivered };
            self.report(packet, fate);
            if is_lost {
                return;
            }
        }
        let Some(key) = packet.flow_key() else { return };
        let (host, end) = if is_for_mobile(packet) { (key.destination, 1) } else { (key.source, 0) };
        let number = (0..PER_HOST).map(|port| {
            let IpAddr::V4(address) = host.0 else { return usize::MAX };
            (address.to_bits().wrapping_sub(0x0a01_0000) as usize) * PER_HOST + port
        });
        let Some(number) = number.into_iter().find(|number| mobile(*number) == host && *number < CONNECTIONS)
        else {
            return;
        };
        self.ends[number][end].on_segment(packet, self.now);
        self.transmit(number);
    }

    fn report(&mut self, packet: &Packet, fate: Fate) {
        let event = LinkEvent::Frame {
            packet,
            fate,
            transmissions: 1,
            queueing: Duration::ZERO,
            access: None,
            air_time: Duration::from_millis(1),
        };
        let is_confirmed = fate == Fate::Delivered;
        let attempt = LinkEvent::Attempt { packet, transmission: 1, began: self.now, is_confirmed };
        for event in [event, attempt] {
            if self.agent.needs().contains(event.sense()) {
                self.call(Some(packet.ip().destination), |agent, cx| agent.on_link(&event, cx));
            }
        }
    }

    /// Sends the packets of a connection's ends, and reads the received data.
    fn transmit(&mut self, number: usize) {
        for end in 0..2 {
            while self.ends[number][end].read().is_some() {}
            while let Some(packet) = self.ends[number][end].poll_transmit(self.now) {
                // The mobile host is across the hop, or at the agent's node.
                let from = if (end == 1) == self.is_host { Side::Core } else { Side::Radio };
                self.show(packet, from);
            }
        }
    }

    fn carry(&mut self) {
        while let Some((to, packet)) = self.queue.pop_front() {
            self.now += Duration::from_micros(20);
            self.deliver(to, &packet);
        }
    }

    /// Runs until nothing is in flight any more, or for this time.
    fn go_on(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.carry();
            let of_ends = self.ends.iter().flatten().filter_map(Connection::deadline);
            let next = of_ends.chain(self.agent.deadline()).map(|due| due.at).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            // Work that is due a little later is done at the same time.
            self.now = self.now.max(next) + STEP;
            if self.agent.deadline().is_some_and(|due| due.at <= self.now) {
                self.call(None, |agent, cx| agent.on_deadline(cx));
            }
            for number in 0..self.ends.len() {
                for end in 0..2 {
                    if self.ends[number][end].deadline().is_some_and(|due| due.at <= self.now) {
                        self.ends[number][end].on_deadline(self.now);
                        self.transmit(number);
                    }
                }
            }
        }
        self.now = self.now.max(until);
    }

    fn write(&mut self, octets: u64) {
        for number in 0..self.ends.len() {
            for end in 0..2 {
                self.ends[number][end].write_stream(1, self.now.as_millis(), octets);
            }
            self.transmit(number);
        }
    }

    /// RTP in both directions between two ports of each host.
    fn call_up(&mut self) {
        for packet in 0..8u16 {
            self.now += Duration::from_millis(20);
            for host in 0..CONNECTIONS / PER_HOST {
                let phone = (mobile(host * PER_HOST).0, 7000);
                for (from, side) in [(phone, Side::Radio), ((SERVER, 7000), Side::Core)] {
                    let to = if from == phone { (SERVER, 7000) } else { phone };
                    let header = Rtp {
                        payload_type: 0,
                        marker: false,
                        sequence: packet,
                        timestamp: u32::from(packet) * 160,
                        ssrc: host as u32,
                    };
                    let octets = Bytes::from([&header.octets()[..], &[7; 20]].concat());
                    let udp = Udp { source_port: from.1, destination_port: to.1 };
                    let packet =
                        Packet::new(Ip::new(from.0, to.0), Transport::Udp(udp), Payload::Bytes(octets));
                    let mut packet = packet;
                    let _ = self.call(None, |agent, cx| agent.on_packet(&mut packet, side, cx));
                }
            }
        }
    }

    fn check(&mut self, when: &str) {
        let (allocated, reported) = (self.allocated, signed(self.agent.octets()));
        let min = allocated - allocated / MAX_BELOW.0 - MAX_BELOW.1;
        let max = allocated + allocated / MAX_ABOVE.0 + MAX_ABOVE.1;
        let is_right = (min..=max).contains(&reported);
        if !is_right || reported > signed(self.budget.octets_in_all) {
            self.wrong
                .push(format!("{} {when}: {allocated} octets allocated, {reported} reported", self.name));
        }
    }

    fn established(&self) -> usize {
        self.ends.iter().filter(|[_, end]| end.state() == State::Established).count()
    }
}

fn check(scheme: &Scheme, settings: &str, role: Role) -> Vec<String> {
    let Some(mut world) = World::new(scheme, settings, role, Budget::default()) else { return Vec::new() };
    for number in 0..CONNECTIONS {
        world.transmit(number);
    }
    world.carry();
    world.check("after the handshakes");
    assert_eq!(world.established(), CONNECTIONS, "{}", world.name);
    world.write(OCTETS);
    world.go_on(Duration::from_secs(2));
    world.check("after some data");
    if world.agent.takes_datagrams() {
        world.call_up();
        world.check("in calls");
    }
    world.loses = 3;
    world.write(2 * OCTETS);
    world.check("with data under way");
    world.carry();
    world.check("with data lost");
    world.loses = 0;
    world.go_on(Duration::from_secs(30));
    world.check("at rest");
    for number in 0..CONNECTIONS {
        let key = FlowKey::tcp(server(number), mobile(number));
        let key = if world.is_host { key.reversed() } else { key };
        world.call(None, |agent, cx| agent.release(key, cx));
        world.queue.clear();
        let phone = (mobile(number).0, 7000);
        world.call(None, |agent, cx| agent.release(FlowKey::udp((SERVER, 7000), phone), cx));
    }
    world.check("when all is forgotten");
    assert!(world.agent.octets() <= 64 << 10, "{}: {} octets are left", world.name, world.agent.octets());
    world.wrong
}

#[test]
fn an_agents_reported_memory_is_its_allocated_memory() {
    let mut wrong = Vec::new();
    for scheme in CATALOG.iter().copied().chain([&tutorial::ack_thinning::SCHEME]) {
        for settings in settings(scheme) {
            for role in [Role::Edge, Role::Relay, Role::Router, Role::MobileHost] {
                wrong.extend(check(scheme, &settings, role));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
