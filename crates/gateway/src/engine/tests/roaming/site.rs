//! A site of three access points, one client that walks between them, and a server. The endpoints check each octet,
//! and refuse what is not in their window.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use lasthop_handoff::{Config, Query};
use lasthop_packet::{Packet, Payload};

use super::*;
use crate::io::PortId;
use crate::plan::Plan;
use crate::roaming::channel::{Destination, Pending};
use crate::roaming::counters::HandoffCounters;
use crate::roaming::nat::access_point::TakenUp;
use crate::roaming::nat::mapping::Moved;
use crate::roaming::outside::{Holder, RegistryAnswer};
use crate::roaming::{Handoffs, Outside, state};
use crate::selector::{PortRange, Selector};

const NAMES: [&str; 3] = ["hall", "stairs", "garden"];
const MSS: u32 = 100;
/// From this client port on, connections are only watched.
const WATCHED: u16 = 100;

/// What may go wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// Messages between access points are lost, doubled and reordered.
    pub(super) messages: bool,
    /// The registry does not answer for a while.
    pub(super) outages: bool,
    /// Gateways are killed, and start again.
    pub(super) deaths: bool,
}

pub(super) struct Site {
    rng: Rng,
    faults: Faults,
    now: Instant,
    gateways: Vec<Gateway>,
    air: Air,
    client_at: usize,
    /// The access point to which the bridges send frames for the client.
    learned: usize,
    connections: BTreeMap<u16, Connection>,
    away_until: Instant,
    pub(super) moves: u32,
    pub(super) deaths: u32,
    dead: HandoffCounters,
}

/// What is between the access points.
#[derive(Default)]
struct Air {
    messages: Vec<(usize, usize, Vec<u8>)>,
    questions: Vec<(usize, MacAddress, u64, Query)>,
    registry: Option<(usize, u64)>,
    /// The number of the last claim.
    epoch: u64,
}

struct Gateway {
    engine: Engine,
    out: Outgoing,
    clients: Handoffs,
    /// Until then it is dead: everything passes.
    dead_until: Instant,
}

/// A server that sends a file to the client.
pub(super) struct Connection {
    port: u16,
    pub(super) is_split: bool,
    sent: u32,
    acknowledged: u32,
    /// The next sequence number that the client expects, without the shift of a split.
    received: u32,
    size: u32,
    /// Whether the client's end has the numbers of a split: those of the first octets that it got.
    shifted: Option<bool>,
}

impl Connection {
    pub(super) fn is_delivered(&self) -> bool {
        self.received == 1 + self.size && self.acknowledged == 1 + self.size
    }

    /// The client takes a segment; returns its acknowledgment.
    fn on_data(&mut self, packet: &Packet) -> Packet {
        let seq = packet.tcp().expect("TCP").seq.0;
        if self.shifted.is_none() && [1, 1 + SHIFT].contains(&seq) {
            self.shifted = Some(seq > SHIFT);
        }
        let shift = if self.shifted == Some(true) { SHIFT } else { 0 };
        if seq == self.received + shift {
            let len = packet.payload().len() as u32;
            let expected = Payload::Stream { stream: 1, offset: u64::from(self.received), len };
            assert_eq!(packet.payload().octets(), expected.octets(), "the octets that were sent");
            self.received += len;
        }
        up(self.port, self.received + shift, 0, ACK)
    }

    /// The server takes an acknowledgment.
    fn on_acknowledgment(&mut self, packet: &Packet) {
        let ack = packet.tcp().expect("TCP").ack.0;
        if ack <= 1 + self.size {
            self.acknowledged = self.acknowledged.max(ack);
        }
    }
}

impl Site {
    pub(super) fn new(seed: u64, faults: Faults, kinds: u16, segments: u32) -> Self {
        let now = Instant::from_secs(1);
        let ports = (1..=kinds).flat_map(|port| [port, port + WATCHED]);
        let connection = |port| Connection {
            port,
            is_split: port < WATCHED,
            sent: 1,
            acknowledged: 1,
            received: 1,
            size: segments * MSS,
            shifted: None,
        };
        let mut site = Self {
            rng: Rng::named(seed, "site"),
            faults,
            now,
            gateways: (0..NAMES.len()).map(|index| Gateway::new(index, now)).collect(),
            air: Air::default(),
            client_at: 0,
            learned: 0,
            connections: ports.map(|port| (port, connection(port))).collect(),
            away_until: Instant::ZERO,
            moves: 0,
            deaths: 0,
            dead: HandoffCounters::default(),
        };
        site.join();
        for _ in 0..100 {
            site.coordinate(false);
        }
        for port in site.connections.keys().copied().collect::<Vec<_>>() {
            site.client_sends(&up(port, 0, 0, TcpFlags::SYN));
            site.server_sends(&down(port, 0, 0, TcpFlags::SYN.with(ACK)));
            site.client_sends(&up(port, 1, 0, ACK));
            site.send(port);
        }
        site
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.values()
    }

    /// What the gateways have counted, those that were killed included.
    pub(super) fn counters(&self) -> HandoffCounters {
        self.gateways.iter().fold(self.dead, |sum, gateway| sum.plus(gateway.clients.counters()))
    }

    pub(super) fn describe(&self) -> String {
        let connection = |one: &Connection| (one.port, one.sent, one.acknowledged, one.received, one.shifted);
        let places = |gateway: &Gateway| gateway.clients.places(self.now).collect::<Vec<_>>();
        format!(
            "client at {}, learned {}, registry {:?}, {:?} {:?}",
            self.client_at,
            self.learned,
            self.air.registry,
            self.connections().map(connection).collect::<Vec<_>>(),
            self.gateways.iter().map(places).collect::<Vec<_>>(),
        )
    }

    /// Lets the client walk for a while, then stay until all is delivered, or for a minute.
    pub(super) fn run(&mut self) {
        for _ in 0..1200 {
            self.act(true);
        }
        self.faults = Faults::default();
        self.away_until = Instant::ZERO;
        for _ in 0..20_000 {
            self.act(false);
            if self.connections().all(Connection::is_delivered) {
                return;
            }
        }
    }

    fn act(&mut self, may_walk: bool) {
        let ports: Vec<u16> = self.connections.keys().copied().collect();
        if may_walk && self.rng.below(60) == 0 {
            self.walk();
        }
        if self.faults.deaths && self.rng.below(300) == 0 {
            self.kill();
        }
        if self.faults.outages && self.rng.below(200) == 0 {
            self.away_until = self.now + Duration::from_millis(self.rng.below(5000));
        }
        let port = ports[self.rng.below(ports.len() as u64) as usize];
        self.send(port);
        for _ in 0..self.rng.below(3) {
            self.coordinate(self.faults.messages);
        }
        self.now += Duration::from_millis(self.rng.below(40));
        for index in 0..self.gateways.len() {
            let gateway = &mut self.gateways[index];
            gateway.engine.on_deadline(self.now, &mut gateway.out);
            if gateway.clients.deadline().is_some_and(|at| at <= self.now) {
                self.with_clients(index, |clients, now, outside| clients.on_deadline(now, outside));
            }
            self.deliver(index);
        }
    }

    fn walk(&mut self) {
        self.moves += 1;
        let from = self.client_at;
        self.client_at = (from + 1 + self.rng.below(2) as usize) % NAMES.len();
        // Stations need not say that they leave, and an access point may not learn of an association before the
        // first packet.
        if self.rng.below(2) == 0 {
            self.with_clients(from, |clients, _, outside| clients.on_leave(CLIENT, outside));
        }
        if self.rng.below(2) == 0 {
            self.join();
            self.learned = self.client_at;
        }
    }

    fn join(&mut self) {
        let at = self.client_at;
        self.with_clients(at, |clients, now, outside| clients.on_join(CLIENT, None, now, outside));
    }

    fn kill(&mut self) {
        let index = self.rng.below(NAMES.len() as u64) as usize;
        self.deaths += 1;
        let old = std::mem::replace(&mut self.gateways[index], Gateway::new(index, self.now));
        self.dead = self.dead.plus(old.clients.counters());
        self.gateways[index].dead_until = self.now + Duration::from_millis(self.rng.below(3000));
        self.air.questions.retain(|(by, ..)| *by != index);
    }

    /// A message or an answer of the registry arrives, in any order.
    fn coordinate(&mut self, is_faulty: bool) {
        let waiting = self.air.messages.len() + self.air.questions.len();
        if waiting == 0 {
            return;
        }
        let index = self.rng.below(waiting as u64) as usize;
        let Some(at) = index.checked_sub(self.air.messages.len()) else {
            let (from, to, octets) = self.air.messages.swap_remove(index);
            let fate = if is_faulty { self.rng.below(20) } else { 19 };
            if fate == 0 {
                return;
            }
            if fate == 1 {
                self.air.messages.push((from, to, octets.clone()));
            }
            self.with_clients(to, |clients, now, outside| {
                clients.on_message(NAMES[from], &octets, now, outside);
            });
            return;
        };
        let (by, client, number, query) = self.air.questions.swap_remove(at);
        let answer = self.answer(by, query);
        self.with_clients(by, |clients, now, outside| {
            clients.on_answer(client, number, answer, now, outside);
        });
    }

    fn answer(&mut self, by: usize, query: Query) -> RegistryAnswer {
        let Air { registry, epoch, .. } = &mut self.air;
        if self.away_until > self.now {
            return RegistryAnswer::Away;
        }
        match query {
            Query::Claim { expected } if expected == registry.map(|(_, epoch)| epoch) => {
                *epoch += 1;
                *registry = Some((by, *epoch));
                RegistryAnswer::Won(*epoch)
            }
            _ => RegistryAnswer::Found(registry.map(|(holder, epoch)| Holder {
                name: NAMES[holder].to_owned(),
                address: ([10, 0, 0, holder as u8], 9479).into(),
                epoch,
            })),
        }
    }

    /// The server sends the next segment; after the last one, it starts again at the first that is not
    /// acknowledged.
    fn send(&mut self, port: u16) {
        let one = self.connections.get_mut(&port).expect("it is known");
        if one.sent > one.size {
            one.sent = one.acknowledged;
        }
        if one.sent <= one.size {
            let segment = down(port, one.sent, MSS, ACK);
            one.sent += MSS;
            self.server_sends(&segment);
        }
    }

    /// A packet for the client goes where the bridges have learned that it is, or everywhere.
    fn server_sends(&mut self, packet: &Packet) {
        let frame = frame(&bridged(SERVER_ADDRESS, CLIENT), packet);
        if self.rng.below(10) == 0 {
            (0..NAMES.len()).for_each(|index| self.push(index, CORE, frame.clone()));
        } else {
            self.push(self.learned, CORE, frame);
        }
    }

    fn client_sends(&mut self, packet: &Packet) {
        self.learned = self.client_at;
        self.push(self.client_at, RADIO, frame(&bridged(CLIENT, SERVER_ADDRESS), packet));
    }

    fn push(&mut self, index: usize, port: PortId, frame: Frame) {
        let gateway = &mut self.gateways[index];
        if gateway.dead_until > self.now {
            gateway.out.frames.push((port, frame));
        } else {
            gateway.engine.on_frame(port, frame, self.now, &mut gateway.out);
            if !gateway.engine.take_arrived().is_empty() {
                self.with_clients(index, |clients, now, outside| clients.on_notice(CLIENT, now, outside));
            }
        }
        self.deliver(index);
    }

    /// What a gateway has sent arrives, unless the hop loses it.
    fn deliver(&mut self, index: usize) {
        for (_, frame) in std::mem::take(&mut self.gateways[index].out.frames) {
            let (_, packet) = frame.parse(true).expect("a packet of ours");
            let tcp = packet.tcp().expect("TCP");
            if tcp.destination_port == SERVER.1 {
                let one = self.connections.get_mut(&tcp.source_port).expect("it is known");
                one.on_acknowledgment(&packet);
            } else if index == self.client_at && self.rng.below(8) > 0 && !packet.payload().is_empty() {
                let one = self.connections.get_mut(&tcp.destination_port).expect("it is known");
                let acknowledgment = one.on_data(&packet);
                self.client_sends(&acknowledgment);
            }
        }
    }

    fn with_clients(&mut self, index: usize, input: impl FnOnce(&mut Handoffs, Instant, &mut dyn Outside)) {
        let Gateway { engine, out, clients, dead_until } = &mut self.gateways[index];
        if *dead_until <= self.now {
            let mut outside = Around { index, engine, out, air: &mut self.air, now: self.now };
            input(clients, self.now, &mut outside);
        }
        self.deliver(index);
    }
}

impl Gateway {
    fn new(index: usize, now: Instant) -> Self {
        let select = |name, first, last| {
            let mut rule = match name {
                "splitter" => rule(name, Splitter::from_the_syn),
                _ => rule(name, Watcher::default),
            };
            rule.traffic = Selector { ports: vec![PortRange(first..=last)], ..Selector::default() };
            rule
        };
        let plan: Plan =
            plan(vec![select("watcher", WATCHED, 2 * WATCHED), select("splitter", 1, WATCHED - 1)]);
        let port =
            |name: &str, side| crate::io::Port { name: name.into(), side, ethernet: true, copies_of: None };
        let ports = [port("wlan0", Side::Core), port("wlan0", Side::Radio)];
        let mut engine = Engine::new(&ports, &plan);
        engine.roam(4);
        let config = Config { registry: Duration::from_millis(250), ..Config::default() };
        let clients = Handoffs::new(NAMES[index], 4, config, now.as_nanos(), now);
        Self { engine, out: Outgoing::default(), clients, dead_until: Instant::ZERO }
    }
}

/// What is around one gateway's hand-offs.
struct Around<'a> {
    index: usize,
    engine: &'a mut Engine,
    out: &'a mut Outgoing,
    air: &'a mut Air,
    now: Instant,
}

impl Outside for Around<'_> {
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending {
        let to = NAMES.iter().position(|name| *name == to.name).expect("one of three");
        self.air.messages.push((self.index, to, octets));
        Pending::default()
    }

    fn arrived_from(&self, _name: &str) -> u64 {
        // Messages come at once, or not at all.
        0
    }

    fn ask(&mut self, client: MacAddress, number: u64, query: Query) {
        self.air.questions.retain(|(by, of, ..)| (*by, *of) != (self.index, client));
        self.air.questions.push((self.index, client, number, query));
    }

    fn await_state(&mut self, client: MacAddress) {
        self.engine.await_client(client, self.now, self.out);
    }

    fn serve(&mut self, client: MacAddress, octets: Option<Bytes>) {
        let saved = octets.map(|octets| state::decode(&octets).expect("a state of ours")).unwrap_or_default();
        let served = self.engine.serve_client(client, &saved, self.now, self.out);
        assert_eq!(served.refused, 0, "{served:?}");
    }

    fn give(&mut self, client: MacAddress) -> Bytes {
        let given = self.engine.give_client(client, self.now, self.out);
        assert!(given.is_all, "there are few");
        let (octets, left_out) = state::encode(given.saved, &[]);
        assert_eq!(left_out.len(), 0);
        octets
    }

    fn lose(&mut self, client: MacAddress) {
        self.engine.lose_client(client, self.now, self.out);
    }

    fn forget(&mut self, client: MacAddress) {
        self.engine.forget_client(client, self.out);
    }

    fn take_up(&mut self, _client: MacAddress, _state: &Bytes) -> TakenUp {
        TakenUp::default()
    }

    fn release(&mut self, _client: MacAddress) {}

    fn redirect(&mut self, _client: MacAddress, _to: &str, _epoch: u64, _moved: &[Moved]) -> Option<u64> {
        None
    }
}
