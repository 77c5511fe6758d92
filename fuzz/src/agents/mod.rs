//! Agents of the catalog, and stacks of two or three of them, under whatever a world may show
//! them.

mod account;
mod conversation;
mod settings;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::counter::DROPPED_HELD_OCTETS;
use lasthop_agent::{
    Agent, Budget, Bypass, Context, Fate, FlowState, ImportError, LinkEvent, LinkSenses, Outbox, Owed,
    Report, Scope, Side, Stack, Verdict,
};
use lasthop_packet::wire::emit;
use lasthop_packet::{FlowKey, Instant, Packet, Rng};
use lasthop_schemes::{Placement, Role, Seat};

use crate::octets::Octets;
use account::Account;
use conversation::{Conversation, PHONE};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
/// The link layer may have a word on so many of the packets that left last.
const ON_THE_AIR: usize = 16;

/// Schemes whose agents are ends of connections: what they absorb they answer for, as TCP does, and
/// what becomes of it is a property of its own (`lasthop_hop::split`).
const SPLITS: [&str; 3] = ["i-tcp", "cicada", "as-tcp"];

/// No packets, events, times and calls make a stack of agents panic, lose, invent or alter data,
/// run hot or send without bound.
pub fn agents(data: &[u8]) {
    let mut octets = Octets(data);
    let (role, _) = octets.pick(&Role::ALL);
    let seat = Seat { role, address: ADDRESS };
    let neighbor = octets.flag().then_some(PHONE);
    let drawn: Vec<_> = (0..octets.pick(&[1, 1, 2, 3])).map(|_| settings::placement(&mut octets)).collect();
    let ends_connections = drawn.iter().any(|(name, _)| SPLITS.contains(name));
    let placements: Vec<_> = drawn.into_iter().map(|(_, placement)| placement).collect();
    let make: Make = Box::new(move || agents_of(&placements, seat));
    let budget = Budget {
        flows: octets.pick(&[10_000, 1, 2]),
        octets_per_flow: octets.pick(&[4 << 20, 3_000, 60_000]),
        octets_in_all: octets.pick(&[64 << 20, 5_000, 80_000]),
    };
    let mut bench = Bench { ends_connections, ..Bench::new(make, budget, neighbor) };
    while !octets.is_empty() {
        bench.step(&mut octets);
    }
    bench.end();
}

/// Octets that are taken before there is anything to ask for: of a leg that sends, of who waits in line.
const UNASKED: usize = 4 << 10;

/// Octets that a connection's fixed state takes at most, with its share of tables that have room for four.
const FIXED: usize = 32 << 10;

/// Makes the agents of a stack.
type Make = Box<dyn Fn() -> Vec<Box<dyn Agent>>>;

fn agents_of(placements: &[Box<dyn Placement>], seat: Seat) -> Vec<Box<dyn Agent>> {
    placements.iter().filter_map(|placement| placement.agent(seat)).collect()
}

fn stack_of(mut agents: Vec<Box<dyn Agent>>) -> Box<dyn Agent> {
    if agents.len() == 1 { agents.remove(0) } else { Box::new(Stack::new(agents)) }
}

/// A world around a stack.
struct Bench {
    agent: Box<dyn Agent>,
    make: Make,
    /// How many agents there are.
    layers: usize,
    /// One of them is an end of connections.
    ends_connections: bool,
    budget: Budget,
    /// Who is at the other end of the link, where the world knows.
    neighbor: Option<IpAddr>,
    conversation: Conversation,
    now: Instant,
    rng: Rng,
    account: Account,
    on_the_air: Vec<Packet>,
    /// Connections of which something may pass without asking.
    passing: Vec<FlowKey>,
}

impl Bench {
    fn new(make: Make, budget: Budget, neighbor: Option<IpAddr>) -> Self {
        let agents = make();
        let layers = agents.len();
        Self {
            agent: stack_of(agents),
            make,
            layers,
            ends_connections: false,
            budget,
            neighbor,
            conversation: Conversation::new(),
            now: Instant::from_secs(1),
            rng: Rng::named(1, "agents"),
            account: Account::default(),
            on_the_air: Vec::new(),
            passing: Vec::new(),
        }
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let now = self.now;
        match octets.octet() % 32 {
            0..=7 => self.segment(Conversation::data, Side::Core, octets),
            8..=14 => self.segment(Conversation::ack, Side::Radio, octets),
            15 => self.segment(Conversation::data, Side::Radio, octets),
            16 => self.segment(Conversation::ack, Side::Core, octets),
            17 => self.segment(Conversation::any, Side::Core, octets),
            18 => self.segment(Conversation::any, Side::Radio, octets),
            19 => self.segment(Conversation::opening, Side::Core, octets),
            20 => self.segment(Conversation::opening, Side::Radio, octets),
            21 => {
                let from = octets.pick(&[Side::Core, Side::Radio]);
                let packet = self.conversation.no_segment(from, octets);
                self.foreign(&packet, from);
            }
            22..=25 => self.link(octets),
            26 => self.wait(octets.time(), true),
            // A world that is late.
            27 => self.wait(octets.time(), false),
            28 => {
                let due = self.agent.deadline().map_or(now, |deadline| deadline.at.max(now));
                self.wait(due.since(now), true);
            }
            29 => self.passed(octets),
            30 => {
                let connection = self.conversation.key(octets);
                self.agent.prefetch(&[connection, connection.reversed()]);
                // Early.
                self.call(|agent, cx| agent.on_deadline(cx));
            }
            _ => match octets.octet() {
                0..=63 => self.drain(),
                64..=95 => self.let_all_go(),
                96..=143 => self.hand_over(octets),
                _ => {
                    let connection = self.conversation.key(octets);
                    self.call(|agent, cx| agent.release(connection, cx));
                }
            },
        }
    }

    /// Whatever came before, everything leaves in the end.
    fn end(&mut self) {
        self.drain();
        self.let_all_go();
    }

    fn segment(
        &mut self,
        draw: fn(&mut Conversation, Side, &mut Octets<'_>, Instant) -> Packet,
        from: Side,
        octets: &mut Octets<'_>,
    ) {
        let packet = draw(&mut self.conversation, from, octets, self.now);
        self.account.given(&packet, from.opposite());
        let mut passing = packet.clone();
        let held = self.agent.held();
        let verdict = self.call(|agent, cx| agent.on_packet(&mut passing, from, cx));
        if verdict != Verdict::Absorb {
            self.account.given_back();
        }
        if verdict == Verdict::Forward {
            assert_eq!(passing.flow_key(), packet.flow_key(), "it is of another connection now");
            assert_eq!(passing.payload(), packet.payload());
            self.leaves(from.opposite(), passing);
        }
        assert!(
            self.layers > 1 || self.agent.held() <= held + 1,
            "one packet makes one more to hold at most"
        );
    }

    /// What is no segment goes on untouched, and nothing comes of it.
    fn foreign(&mut self, packet: &Packet, from: Side) {
        let mut passing = packet.clone();
        let before = self.account.sent;
        let verdict = self.call(|agent, cx| agent.on_packet(&mut passing, from, cx));
        assert_eq!((verdict, self.account.sent), (Verdict::Forward, before));
        assert_eq!(passing, *packet);
    }

    /// What a world lets pass fits the limits; to an agent that reads copies it may come late,
    /// twice or not at all.
    fn passed(&mut self, octets: &mut Octets<'_>) {
        let from = octets.pick(&[Side::Core, Side::Radio]);
        let draw = [Conversation::data, Conversation::ack, Conversation::any][octets.below(3)];
        let packet = draw(&mut self.conversation, from, octets, self.now);
        let connection = packet.flow_key().map(|key| from.connection(key));
        if connection.is_some_and(|key| self.passing.contains(&key)) {
            self.account.shown(&packet);
            self.call(|agent, cx| agent.on_bypass(&packet, from, cx));
        }
    }

    fn link(&mut self, octets: &mut Octets<'_>) {
        if !self.agent.needs().contains(LinkSenses::FRAME_FATE) {
            return;
        }
        let which = octets.octet();
        let packet = match self.on_the_air.len() {
            in_all if in_all > 0 && which < 240 => self.on_the_air.remove(usize::from(which) % in_all),
            _ => self.conversation.any(Side::Core, octets, self.now),
        };
        let fate = match octets.octet() {
            0..=159 => Fate::Delivered,
            160..=199 => Fate::FirstTransmissionFailed,
            _ => Fate::GivenUp,
        };
        if fate == Fate::FirstTransmissionFailed {
            self.on_the_air.push(packet.clone());
        }
        let event = LinkEvent::Frame {
            packet: &packet,
            fate,
            transmissions: 1 + u32::from(octets.octet()),
            queueing: octets.time(),
            access: None,
            air_time: Duration::from_millis(1),
        };
        self.call(|agent, cx| agent.on_link(&event, cx));
    }

    fn wait(&mut self, time: Duration, is_punctual: bool) {
        let until = self.now + time;
        // A short timer of many connections that wait for long keeps a world busy, and is no fault.
        for _ in 0..if is_punctual { 100 } else { 0 } {
            let Some(due) = self.agent.deadline().filter(|deadline| deadline.at <= until) else { break };
            self.now = self.now.max(due.at);
            for _ in 0..2 * self.layers {
                self.call(|agent, cx| agent.on_deadline(cx));
            }
            let next = self.agent.deadline();
            assert!(next.is_none_or(|next| next.at > self.now), "a busy loop: {due:?}, {next:?}");
        }
        self.now = self.now.max(until);
    }

    fn drain(&mut self) {
        self.call(|agent, cx| agent.drain(cx));
        assert_eq!(self.agent.held(), 0, "it is drained");
        if self.layers == 1 && !self.ends_connections {
            self.account.assert_all_has_left();
        }
    }

    fn let_all_go(&mut self) {
        for key in self.conversation.keys().collect::<Vec<_>>() {
            self.call(|agent, cx| agent.release(key, cx));
        }
        assert!(self.layers > 1 || self.agent.held() == 0, "no connection is left");
    }

    /// Another agent goes on with all that this one knows and holds; a third is shown a forged copy
    /// of it.
    fn hand_over(&mut self, octets: &mut Octets<'_>) {
        let held = self.agent.held();
        let before = self.account.sent;
        let states = self.call(|agent, cx| agent.export(Scope::All, cx));
        assert_eq!((self.agent.held(), self.agent.owed()), (0, Owed::default()), "it was exported");
        assert_eq!((self.agent.octets(), self.account.sent), (0, before), "and not sent");
        self.agent = stack_of((self.make)());
        let mut moved = true;
        for state in &states {
            let refused = self.call(|agent, cx| agent.import(state, cx)).err();
            assert!(refused.is_none() || matches!(refused, Some(ImportError::NoRoom(_))), "{refused:?}");
            moved &= refused.is_none();
        }
        if !moved {
            self.account.forget();
        }
        let sent = self.account.sent - before;
        assert!(!moved || self.agent.held() + sent as u64 >= held, "{held} packets were held");
        if let Some(state) = states.first() {
            self.forge(state.clone(), octets);
        }
    }

    /// Any octets are a state or an error.
    fn forge(&mut self, mut state: FlowState, octets: &mut Octets<'_>) {
        for _ in 0..octets.below(8) {
            let at = octets.below(state.octets.len().max(1));
            if let Some(octet) = state.octets.get_mut(at) {
                *octet = octets.octet();
            }
        }
        self.forge_among_real_hosts(&state);
        let mut agent = stack_of((self.make)());
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let _ = agent.import(&state, &mut cx);
        assert!(agent.octets() <= self.budget.octets_in_all, "{} octets taken", agent.octets());
        for from in [Side::Core, Side::Radio] {
            let mut packet = self.conversation.any(from, octets, self.now);
            let _ = agent.on_packet(&mut packet, from, &mut cx);
        }
        agent.on_deadline(&mut cx);
        agent.drain(&mut cx);
        agent.release(state.connection, &mut cx);
    }

    /// Among real hosts, nothing that a state brings becomes octets that no host has sent.
    fn forge_among_real_hosts(&mut self, state: &FlowState) {
        let mut agent = stack_of((self.make)());
        let mut outbox = Outbox::default();
        let mut cx =
            Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget).among_real_hosts();
        let _ = agent.import(state, &mut cx);
        agent.drain(&mut cx);
        agent.release(state.connection, &mut cx);
        assert!(outbox.packets.iter().all(|(_, packet)| !packet.payload().is_simulated()));
    }

    /// Calls the agent, and takes what it sends and tells.
    fn call<R>(&mut self, f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R) -> R {
        let held = self.agent.held();
        let mut outbox = Outbox::default();
        let cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let result = f(self.agent.as_mut(), &mut cx.with_neighbor(self.neighbor));
        let taken = self.agent.octets();
        let most = self.budget.octets_in_all.saturating_add(UNASKED);
        assert!(taken <= most, "{taken} octets taken, and there are {:?}", self.budget);
        if self.layers == 1 {
            let of_flow = self.budget.octets_per_flow.saturating_add(FIXED);
            let flows = self.budget.flows.saturating_mul(of_flow);
            assert!(taken <= flows, "{taken} octets taken by flows, and there are {:?}", self.budget);
        }
        let most = self.account.most_in_one_call(held, self.layers);
        assert!(outbox.packets.len() <= most, "{} packets in one call, not {most}", outbox.packets.len());
        assert!(outbox.reports.len() <= 4 * most, "{} reports in one call", outbox.reports.len());
        for report in &outbox.reports {
            let Report { counter, amount, seq, .. } = *report;
            if let (true, Some(seq)) = (counter == &DROPPED_HELD_OCTETS, seq) {
                self.account.dropped(seq, amount as u32);
            }
        }
        for (to, packet) in outbox.packets {
            self.account.sent += 1;
            self.leaves(to, packet);
        }
        for Bypass { flow, limits } in outbox.bypasses {
            assert!(self.conversation.keys().any(|key| key == flow));
            self.passing.retain(|passing| *passing != flow);
            self.passing.extend(limits.map(|_| flow));
            assert!(limits.is_none_or(|limits| !limits.until.before(limits.from)), "{limits:?}");
        }
        result
    }

    fn leaves(&mut self, to: Side, packet: Packet) {
        assert!(self.conversation.is_intact(&packet), "not what came: {packet:?}");
        if packet.len() < 2000 {
            assert_eq!(emit(&packet).len(), packet.len());
        }
        self.account.left(&packet, to);
        if to == Side::Radio {
            if self.on_the_air.len() == ON_THE_AIR {
                self.on_the_air.remove(0);
            }
            self.on_the_air.push(packet);
        }
    }
}
