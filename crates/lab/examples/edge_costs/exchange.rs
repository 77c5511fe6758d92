//! Connections that take turns through an edge and the hop after it.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet};

use crate::edge::Edge;
use crate::hosts::{Hosts, SEGMENT};

/// Segments in a turn.
const BURST: u64 = 8;
/// Each connection has a turn in this time.
const ROUND: Duration = Duration::from_millis(100);
/// The one-way delays of the wire and of the hop.
const WIRE: Duration = Duration::from_millis(10);
const HOP: Duration = Duration::from_millis(2);

/// The direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Down,
    Up,
}

/// Packets in transit in one direction, each with its time of arrival.
type Channel = VecDeque<(Instant, Packet)>;

/// Connections through an edge.
pub struct Exchange {
    edge: Edge,
    core: Hosts,
    radio: Hosts,
    direction: Direction,
    lost: u32,
    flows: u32,
    now: Instant,
    turn: u64,
    /// Packets to the edge and from it, on the core side and on the radio side.
    to_edge: [Channel; 2],
    from_edge: [Channel; 2],
    sent: Vec<(Side, Packet)>,
    /// Data segments sent over the hop.
    on_hop: u32,
    packets: u64,
    received_before: u64,
}

const fn index(side: Side) -> usize {
    match side {
        Side::Core => 0,
        Side::Radio => 1,
    }
}

const SIDES: [Side; 2] = [Side::Core, Side::Radio];

const fn delay(side: Side) -> Duration {
    match side {
        Side::Core => WIRE,
        Side::Radio => HOP,
    }
}

impl Exchange {
    pub fn new(scheme: &str, settings: &str, direction: Direction, lost: u32, flows: u32) -> Self {
        Self {
            edge: Edge::new(scheme, settings, flows),
            core: Hosts::new(Side::Core, flows),
            radio: Hosts::new(Side::Radio, flows),
            direction,
            lost,
            flows,
            now: Instant::from_secs(1),
            turn: 0,
            to_edge: Default::default(),
            from_edge: Default::default(),
            sent: Vec::new(),
            on_hop: 0,
            packets: 0,
            received_before: 0,
        }
    }

    /// Gives connections their turns, one after the other.
    pub fn take_turns(&mut self, turns: u32) {
        for _ in 0..turns {
            let flow = (self.turn % u64::from(self.flows)) as u32;
            self.turn += 1;
            match self.direction {
                // A listener's data of the first turn waits for the connection.
                Direction::Down => self.core.write(flow, BURST),
                Direction::Up => self.radio.write(flow, BURST),
            }
            self.transmit(Side::Radio, flow);
            self.transmit(Side::Core, flow);
            let next = Instant::from_secs(1) + ROUND.mul_f64(self.turn as f64 / f64::from(self.flows));
            self.advance_to(next);
        }
    }

    /// Starts to count packets, segments and the agent's instructions.
    pub fn count(&mut self) {
        (self.edge.is_counted, self.packets) = (true, 0);
        self.received_before = self.received();
    }

    /// Packets that arrived at the edge.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Segments that receivers got, in order.
    pub fn segments(&self) -> u64 {
        (self.received() - self.received_before) / SEGMENT
    }

    fn received(&self) -> u64 {
        if self.direction == Direction::Down { self.radio.received() } else { self.core.received() }
    }

    fn hosts(&mut self, side: Side) -> &mut Hosts {
        if side == Side::Core { &mut self.core } else { &mut self.radio }
    }

    fn advance_to(&mut self, until: Instant) {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = until;
    }

    /// The time of the next event.
    fn next(&self) -> Option<Instant> {
        let channels = self.to_edge.iter().chain(&self.from_edge);
        let arrivals = channels.filter_map(|channel| channel.front().map(|(at, _)| *at));
        let timers = [self.core.deadline(), self.radio.deadline(), self.edge.deadline()];
        arrivals.chain(timers.into_iter().flatten()).min()
    }

    /// Handles the events that are due.
    fn step(&mut self) {
        let now = self.now;
        for side in SIDES {
            while let Some(packet) = arrived(&mut self.to_edge[index(side)], now) {
                self.packets += 1;
                self.edge.pass(side, packet, now, &mut self.sent);
                self.forward();
            }
            while let Some(packet) = arrived(&mut self.from_edge[index(side)], now) {
                let flow = self.hosts(side).receive(&packet, now);
                self.transmit(side, flow);
            }
            while self.hosts(side).deadline().is_some_and(|at| at <= now) {
                let Some(flow) = self.hosts(side).on_deadline(now) else { break };
                self.transmit(side, flow);
            }
        }
        if self.edge.deadline().is_some_and(|at| at <= now) {
            self.edge.on_deadline(now, &mut self.sent);
            self.forward();
        }
    }

    /// Sends the segments of an endpoint.
    fn transmit(&mut self, side: Side, flow: u32) {
        let (now, mut out) = (self.now, std::mem::take(&mut self.to_edge[index(side)]));
        let mut on_hop = self.on_hop;
        let lost = self.lost;
        self.hosts(side).transmit(flow, now, |packet| {
            if side == Side::Core || !is_lost(&packet, lost, &mut on_hop) {
                out.push_back((now + delay(side), packet));
            }
        });
        self.on_hop = on_hop;
        self.to_edge[index(side)] = out;
    }

    /// Forwards the packets that the edge has sent, and reports the fate of those on the hop.
    fn forward(&mut self) {
        while !self.sent.is_empty() {
            let mut sent = std::mem::take(&mut self.sent);
            for (to, packet) in sent.drain(..) {
                if to == Side::Radio {
                    let is_lost = is_lost(&packet, self.lost, &mut self.on_hop);
                    self.edge.on_fate(&packet, is_lost, self.now, &mut self.sent);
                    if is_lost {
                        continue;
                    }
                }
                self.from_edge[index(to)].push_back((self.now + delay(to), packet));
            }
            if self.sent.is_empty() {
                // Its capacity is reused.
                self.sent = sent;
                break;
            }
        }
    }
}

fn arrived(channel: &mut Channel, now: Instant) -> Option<Packet> {
    channel.front().filter(|(at, _)| *at <= now)?;
    channel.pop_front().map(|(_, packet)| packet)
}

/// Whether the hop loses a packet: the middle one of `lost` data segments.
fn is_lost(packet: &Packet, lost: u32, on_hop: &mut u32) -> bool {
    if packet.payload().is_empty() {
        return false;
    }
    *on_hop += 1;
    lost > 0 && *on_hop % lost == lost / 2
}
