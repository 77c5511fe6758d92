//! The hosts, the agents between them, the channels, and time.

mod forging;
mod laws;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Instant, Packet, Probability, Rng, Seq, Transport, quote};
use lasthop_tcp::Connection;
use proptest::prelude::*;

use super::application::Plan;
use super::channel::Channel;
use super::deeds::{Deed, Doing};
use super::end::{End, Setup};
use super::seat::{Seat, key};
use crate::cicada::Settings;

pub const FIXED: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
pub const MOBILE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2);
pub const KEY: FlowKey = key(FIXED, MOBILE);

/// Longer than any transfer over the worst channels: the legs of an agent back off to two minutes.
const LONGEST: Instant = Instant::from_secs(100_000);
const MAX_EVENTS: u32 = 300_000;
const MAX_AT_ONCE: u32 = 5_000;
/// The number of packets in a failure message.
const TRAIL: usize = 80;

/// The end that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    Fixed,
    Mobile,
    Both,
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Scene {
    pub ends: [Setup; 2],
    pub opener: Opener,
    pub settings: Settings,
    /// The number of agents in a row.
    pub agents: usize,
    /// The channels of each hop, towards the mobile host and back.
    pub wire: [Channel; 2],
    pub air: [Channel; 2],
    pub deeds: Vec<Doing>,
    /// The probability of a forged packet for each packet that arrives.
    pub forging: f64,
    pub seed: u64,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both ends are closed.
    Over,
    /// Nothing happens any more, or without effect.
    Stalled,
}

pub struct World {
    pub ends: [End; 2],
    pub seats: Vec<Seat>,
    pub now: Instant,
    pub deeds: Vec<Doing>,
    /// Whether an event allows a connection to stall, or to be reset.
    pub is_harmed: bool,
    channels: [[Channel; 2]; 2],
    forging: Probability,
    rng: Rng,
    under_way: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Each with its destination node, and the side that it comes from.
    packets: BTreeMap<u64, (Packet, usize, Side)>,
    next: u64,
    /// The latest packets: time, source node and direction.
    trail: VecDeque<(Instant, usize, Side, Packet)>,
}

impl World {
    pub fn new(scene: &Scene) -> Self {
        let [fixed, mobile] = &scene.ends;
        let connect = |setup: &Setup, here, there| {
            Connection::connect(setup.config.clone(), here, there, Seq(setup.iss))
        };
        let listen = |setup: &Setup, here| Connection::listen(setup.config.clone(), here, Seq(setup.iss));
        let (first, second) = match scene.opener {
            Opener::Fixed => (connect(fixed, FIXED, MOBILE), listen(mobile, MOBILE)),
            Opener::Mobile => (listen(fixed, FIXED), connect(mobile, MOBILE, FIXED)),
            Opener::Both => (connect(fixed, FIXED, MOBILE), connect(mobile, MOBILE, FIXED)),
        };
        // A window of an octet moves one octet per round trip: not forever.
        let plan = |setup: &Setup, other: &Setup| {
            let window = setup.config.send_window.unwrap_or(u32::MAX).min(other.config.window);
            Plan { octets: setup.plan.octets.min(u64::from(window) * 100), ..setup.plan.clone() }
        };
        Self {
            ends: [End::new(0, first, plan(fixed, mobile)), End::new(1, second, plan(mobile, fixed))],
            seats: (0..scene.agents)
                .map(|_| Seat { is_exact: scene.agents == 1, ..Seat::new(scene.settings.clone()) })
                .collect(),
            now: Instant::ZERO,
            deeds: scene.deeds.clone(),
            is_harmed: false,
            channels: [scene.wire.clone(), scene.air.clone()],
            forging: Probability::new(scene.forging).unwrap_or_default(),
            rng: Rng::named(scene.seed, "channels"),
            under_way: BinaryHeap::new(),
            packets: BTreeMap::new(),
            next: 0,
            trail: VecDeque::new(),
        }
    }

    /// Runs until both ends are closed, or nothing happens any more.
    pub fn run(&mut self) -> Result<Outcome, TestCaseError> {
        self.run_on().map_err(|error| TestCaseError::fail(format!("{error}\n{}", self.describe())))
    }

    fn run_on(&mut self) -> Result<Outcome, TestCaseError> {
        self.run_ends()?;
        let mut at_once = 0;
        for _ in 0..MAX_EVENTS {
            if self.ends.iter().all(End::is_over) && self.packets.is_empty() {
                self.check_streams()?;
                return Ok(Outcome::Over);
            }
            let Some(at) = self.next_time() else { return Ok(Outcome::Stalled) };
            at_once = if at > self.now { 0 } else { at_once + 1 };
            if at > LONGEST || (at_once > MAX_AT_ONCE && self.may_stall()) {
                return Ok(Outcome::Stalled);
            }
            prop_assert!(at_once < MAX_AT_ONCE, "time stands still");
            self.now = self.now.max(at);
            self.step()?;
            self.check_streams()?;
            self.check_timers()?;
        }
        if self.may_stall() { Ok(Outcome::Stalled) } else { Err(TestCaseError::fail("too many events")) }
    }

    fn arrival(&self) -> Option<Instant> {
        self.under_way.peek().map(|Reverse((at, _))| *at)
    }

    fn next_time(&self) -> Option<Instant> {
        let ends = self
            .ends
            .iter()
            .flat_map(|end| [end.connection.deadline().map(|deadline| deadline.at), end.application.next()]);
        let seats = self.seats.iter().map(|seat| seat.deadline().map(|deadline| deadline.at));
        ends.chain(seats).chain([self.arrival()]).flatten().min()
    }

    fn step(&mut self) -> Result<(), TestCaseError> {
        if self.arrival().is_some_and(|at| at <= self.now)
            && let Some(Reverse((_, number))) = self.under_way.pop()
            && let Some((packet, node, from)) = self.packets.remove(&number)
        {
            self.arrive(packet, node, from)?;
            // In a handshake any end would accept them.
            if self.ends.iter().all(End::is_synchronized) && self.rng.happens(self.forging) {
                self.forge()?;
            }
            return Ok(());
        }
        for number in 0..self.seats.len() {
            if self.seats[number].deadline().is_some_and(|deadline| deadline.at <= self.now) {
                let sent = self.seats[number].on_deadline(self.now)?;
                self.send_on(number + 1, sent)?;
            }
        }
        for end in &mut self.ends {
            if end.connection.deadline().is_some_and(|deadline| deadline.at <= self.now) {
                end.connection.on_deadline(self.now);
            }
        }
        self.run_ends()
    }

    fn arrive(&mut self, packet: Packet, node: usize, from: Side) -> Result<(), TestCaseError> {
        let last = self.seats.len() + 1;
        if node == 0 || node == last {
            let end = &mut self.ends[usize::from(node == last)];
            match packet.transport() {
                Transport::Icmp(_) => end.connection.on_icmp(&packet, self.now),
                _ => end.connection.on_segment(&packet, self.now),
            }
            return self.run_ends();
        }
        let sent = self.seats[node - 1].pass(packet, from, self.now)?;
        self.send_on(node, sent)?;
        while let Some(at) = self.deeds.iter().position(|doing| doing.is_due(&self.seats)) {
            let Doing { seat, deed, .. } = self.deeds.remove(at);
            let sent = self.do_deed(seat, deed)?;
            self.send_on(seat + 1, sent)?;
        }
        Ok(())
    }

    fn do_deed(&mut self, seat: usize, deed: Deed) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        let seat = &mut self.seats[seat];
        self.is_harmed |= deed.is_harmful() && seat.owed().connections > 0;
        deed.on(seat, self.now)
    }

    fn run_ends(&mut self) -> Result<(), TestCaseError> {
        for number in 0..2 {
            self.ends[number].run(self.now)?;
            for count in 0.. {
                prop_assert!(count < 100_000, "an end does not stop sending");
                let end = &mut self.ends[number];
                let Some(packet) = end.connection.poll_transmit(self.now) else { break };
                end.note_sent(&packet);
                let (node, to) =
                    if number == 0 { (0, Side::Radio) } else { (self.seats.len() + 1, Side::Core) };
                self.put(node, to, packet);
            }
        }
        Ok(())
    }

    /// An agent's node sends.
    fn send_on(&mut self, node: usize, sent: Vec<(Side, Packet)>) -> Result<(), TestCaseError> {
        for (to, packet) in sent {
            self.check_timestamp(&packet, to)?;
            self.put(node, to, packet);
        }
        Ok(())
    }

    fn put(&mut self, node: usize, to: Side, mut packet: Packet) {
        if self.trail.len() >= TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back((self.now, node, to, packet.clone()));
        let next_node = if to == Side::Radio { node + 1 } else { node - 1 };
        let hop = usize::from(node.max(next_node) == self.seats.len() + 1);
        let channel = &self.channels[hop][usize::from(to == Side::Core)];
        if let Some(mtu) = channel.refuses(&packet) {
            let message = quote::too_big(&packet, packet.ip().destination, mtu.octets);
            if let Some(message) = message.filter(|_| mtu.is_reported) {
                self.put(next_node, to.opposite(), message);
            }
            return;
        }
        for at in channel.carry(&mut packet, self.now, &mut self.rng) {
            self.under_way.push(Reverse((at, self.next)));
            self.packets.insert(self.next, (packet.clone(), next_node, to.opposite()));
            self.next += 1;
        }
    }
}
