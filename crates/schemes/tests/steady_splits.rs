//! An invariant of agents that terminate connections: on the steady path they do not allocate. Two
//! hosts transfer data through one, down and up, over channels without loss; a global allocator of
//! this binary counts allocations.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use allocation_counter::measure;
use lasthop_agent::{Agent, Context, Outbox, Side, Verdict};
use lasthop_packet::{Instant, Packet, Rng, Seq};
use lasthop_schemes::{Role, Seat, catalog};
use lasthop_tcp::{Config, Connection};

const fn address(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(network, 0, 0, host))
}

const SERVER: (IpAddr, u16) = (address(192, 1), 80);
const CLIENT: (IpAddr, u16) = (address(10, 2), 4000);

/// The time per packet, on the wired path and over the hop: 116 Mbit/s.
const TICK: Duration = Duration::from_micros(100);
/// The delay of a packet.
const WAY: Duration = Duration::from_millis(2);
/// The time until every table and queue has its maximum size.
const WARM_UP: Duration = Duration::from_secs(3);
const STEADY: Duration = Duration::from_secs(2);

/// A channel that passes a packet each tick.
#[derive(Default)]
struct Channel {
    queue: VecDeque<(Instant, Packet)>,
    free_at: Instant,
}

impl Channel {
    fn push(&mut self, packet: Packet, now: Instant) {
        self.free_at = self.free_at.max(now) + TICK;
        self.queue.push_back((self.free_at + WAY, packet));
    }

    fn pop(&mut self, now: Instant) -> Option<Packet> {
        self.queue.front().filter(|(at, _)| *at <= now)?;
        self.queue.pop_front().map(|(_, packet)| packet)
    }
}

struct World {
    server: Connection,
    client: Connection,
    agent: Option<Box<dyn Agent>>,
    /// From the server, from the client, to the server, to the client.
    channels: [Channel; 4],
    outbox: Outbox,
    rng: Rng,
    now: Instant,
    received: u64,
}

impl World {
    fn new(scheme: &str) -> Self {
        let scheme = catalog::find(scheme).expect("it is in the catalog");
        let placement = scheme.configure(toml::Table::new()).expect("defaults");
        let seat = Seat { role: Role::Edge, address: address(10, 1) };
        let channel = || Channel { queue: VecDeque::with_capacity(4096), ..Channel::default() };
        Self {
            server: Connection::listen(Config::linux(), SERVER, Seq(7)),
            client: Connection::connect(Config::linux(), CLIENT, SERVER, Seq(9)),
            agent: placement.agent(seat),
            channels: [channel(), channel(), channel(), channel()],
            outbox: Outbox { packets: Vec::with_capacity(4096), ..Outbox::default() },
            rng: Rng::named(1, "steady"),
            now: Instant::from_secs(1),
            received: 0,
        }
    }

    /// Passes a packet to the agent, or runs its deadline, and sends its output.
    fn ask(&mut self, packet: Option<(Packet, Side)>) {
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.outbox);
        let forwarded = match (packet, &mut self.agent) {
            (Some((mut packet, from)), Some(agent)) => {
                let verdict = agent.on_packet(&mut packet, from, &mut cx);
                (verdict == Verdict::Forward).then_some((from.opposite(), packet))
            }
            (Some((packet, from)), None) => Some((from.opposite(), packet)),
            (None, Some(agent)) => {
                agent.on_deadline(&mut cx);
                None
            }
            (None, None) => None,
        };
        self.outbox.reports.clear();
        for (to, packet) in self.outbox.packets.drain(..).chain(forwarded) {
            self.channels[if to == Side::Core { 2 } else { 3 }].push(packet, self.now);
        }
    }

    fn tick(&mut self) {
        self.now += TICK;
        let now = self.now;
        while let Some(packet) = self.channels[2].pop(now) {
            self.server.on_segment(&packet, now);
        }
        while let Some(packet) = self.channels[3].pop(now) {
            self.client.on_segment(&packet, now);
        }
        for (index, end) in [&mut self.server, &mut self.client].into_iter().enumerate() {
            if end.deadline().is_some_and(|due| due.at <= now) {
                end.on_deadline(now);
            }
            while let Some(payload) = end.read() {
                self.received += payload.len() as u64;
            }
            while let Some(packet) = end.poll_transmit(now) {
                self.channels[index].push(packet, now);
            }
        }
        for (index, side) in [(0, Side::Core), (1, Side::Radio)] {
            while let Some(packet) = self.channels[index].pop(now) {
                self.ask(Some((packet, side)));
            }
        }
        if self.agent.as_ref().and_then(|agent| agent.deadline()).is_some_and(|due| due.at <= now) {
            self.ask(None);
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.tick();
        }
    }
}

#[test]
fn an_active_split_allocates_nothing() {
    for scheme in ["cicada", "i-tcp", "as-tcp"] {
        for is_upload in [false, true] {
            let mut world = World::new(scheme);
            let sender = if is_upload { &mut world.client } else { &mut world.server };
            sender.write_stream(1, 0, 1 << 40);
            world.run(WARM_UP);
            let before = world.received;
            let allocated = measure(|| world.run(STEADY));
            let received = world.received - before;
            assert!(received > 10_000_000, "{scheme}: {received} octets");
            let ends = allocations_of_ends(is_upload);
            assert!(
                allocated.count_total <= ends + 8,
                "{scheme}, upload {is_upload}: {} allocations, {ends} of them the ends', in {received} octets",
                allocated.count_total
            );
        }
    }
}

/// The allocations of the two hosts in the same time, without an agent.
fn allocations_of_ends(is_upload: bool) -> u64 {
    let mut world = World::new("none");
    let sender = if is_upload { &mut world.client } else { &mut world.server };
    sender.write_stream(1, 0, 1 << 40);
    world.run(WARM_UP);
    measure(|| world.run(STEADY)).count_total
}
