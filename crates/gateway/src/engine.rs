//! The engine: frames in, agents, frames out. It reads no clock and touches no device.

mod aside;
mod calls;
mod columns;
mod obligations;
mod passed;
mod prefetch;
mod reload;
mod report;
#[cfg(test)]
mod tests;
mod transfer;

use lasthop_agent::{Budget, Bypass, LinkEvent, Outbox, Side, Slot, Verdict};
use lasthop_packet::{FlowKey, Instant, Packet, Protocol, Quotation, TcpFlags, Transport, rtp};
use prefetch::Prefetch;

use super::clients::Clients;
use super::connection::TrackedConnection;
use super::counters::{Counters, RuleCounters};
use super::hop_rtt::HopRtts;
use super::hop_watch::HopCounters;
use super::plan::{Plan, SteppingAside};
use super::rule::{Rule, is_free};
use super::selector::Selector;
use super::table::ConnectionTable;
use crate::frame::{Frame, LinkHeader};
use crate::io::{FIRST_USER_PORT, Port, PortId};

pub use reload::Selected;
pub use report::{EngineReport, FlowPage, FlowReport, RuleReport};
pub use transfer::SavedConnection;

/// Connections that one call forgets at most, so that a call's work is bounded.
const EXPIRED_A_FRAME: usize = 2;
const EXPIRED_A_DEADLINE: usize = 256;

/// Runs one agent a rule over the frames of a gateway's ports.
///
/// - What it does not understand, and what no rule wants, goes out again at once, in the same
///   octets.
/// - What an agent sends leaves before the packet in hand.
/// - An agent sees the SYNs of a connection, and everything else only once both directions were
///   seen here.
/// - A panic in an agent costs its state, never a packet in hand and never the process.
/// - Work and memory a frame are bounded, and nothing is allocated for a frame that is passed on.
pub struct Engine {
    ports: Vec<Port>,
    traffic: Selector,
    /// The plan's rules in their order, and behind them those of earlier plans whose agents still
    /// owe something.
    rules: Vec<Rule>,
    /// How many of them are the plan's.
    planned: usize,
    /// Connections are measured; there are no rules.
    is_passive: bool,
    connections: ConnectionTable,
    /// What all agents together may take.
    budget: Budget,
    stepping_aside: SteppingAside,
    prefetch: Prefetch,
    outbox: Outbox,
    counters: Counters,
    hop_rtts: HopRtts,
    /// Of all connections.
    hop: HopCounters,
    /// `None` if clients are not counted.
    clients: Option<Clients>,
    /// What rules counted that are there no more.
    retired: RuleCounters,
    /// All traffic passes untouched, until the next reload.
    is_drained: bool,
    /// Agents take on no obligation more.
    refuses_obligations: bool,
    /// Traffic goes past: no agent would learn whether what it waits for has come.
    is_away: bool,
}

/// What the engine wants done, in order. Owned by the caller, who empties it.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Frames to send, each with its port.
    pub frames: Vec<(PortId, Frame)>,
    /// What may pass from now on without coming here: we only hear of it.
    pub bypasses: Vec<Bypass>,
    /// Connections that need not come here any more, from core to radio.
    pub set_aside: Vec<FlowKey>,
    /// Connections that were set aside, and are to come here again; before the above.
    pub taken_back: Vec<FlowKey>,
}

/// A frame in hand.
struct InHand {
    port: PortId,
    side: Side,
    link: LinkHeader,
    frame: Frame,
    packet: Packet,
}

impl Engine {
    /// An engine for these ports.
    pub fn new(ports: &[Port], plan: &Plan) -> Self {
        Self {
            ports: ports.to_vec(),
            traffic: plan.traffic.clone(),
            rules: plan.rules_in_force().iter().map(|rule| Rule::new(rule, plan.seed)).collect(),
            planned: plan.rules_in_force().len(),
            is_passive: plan.passive,
            connections: ConnectionTable::new(plan.budget.flows, plan.idle),
            budget: plan.budget,
            stepping_aside: plan.stepping_aside,
            prefetch: Prefetch::default(),
            outbox: Outbox::default(),
            counters: Counters::default(),
            hop_rtts: HopRtts::default(),
            hop: HopCounters::default(),
            clients: plan.most_clients.map(Clients::of_at_most),
            retired: RuleCounters::default(),
            is_drained: false,
            refuses_obligations: false,
            is_away: false,
        }
    }

    /// A frame came in by a port.
    pub fn on_frame(&mut self, port: PortId, frame: Frame, now: Instant, out: &mut Outgoing) {
        self.expire(EXPIRED_A_FRAME, now, out);
        let known = self.ports.get(usize::from(port.0));
        if let Some(&Port { ethernet, copies_of: Some(passed_at), .. }) = known {
            self.on_copy(ethernet, passed_at, &frame, now, out);
            return;
        }
        self.counters.counts.received += 1;
        self.counters.counts.received_octets += frame.octets.len() as u64;
        let Some(&Port { side, ethernet, .. }) = known else {
            self.counters.passed.not_understood += 1;
            out.frames.push((port, frame));
            return;
        };
        match frame.parse(ethernet) {
            Ok((link, packet)) => self.on_packet(InHand { port, side, link, frame, packet }, now, out),
            Err(why) => {
                self.counters.passed.count(&why);
                out.frames.push((port, frame));
            }
        }
    }

    /// The link layer saw something. Only for agents that ask for it.
    pub fn on_link(&mut self, event: &LinkEvent<'_>, now: Instant, out: &mut Outgoing) {
        // What this node transmits came from the core side.
        let slot =
            event.packet().flow_key().and_then(|key| self.connections.find(Side::Core.connection(key)));
        let Some(slot) = slot else { return };
        let connection = self.connections.at(slot);
        let (Some(rule), None) = (connection.rule, connection.aside) else { return };
        if self.is_drained && self.obligation(slot).is_free() {
            return;
        }
        let rule = usize::from(rule);
        if self.rules[rule].needs().contains(event.sense()) {
            let _ = self.call_about(slot, rule, now, |agent, cx| agent.on_link(event, cx));
            self.send_outbox(Some(slot), now, out);
        }
    }

    /// When [`Engine::on_deadline`] is next due.
    pub fn deadline(&self) -> Option<Instant> {
        let agents = self.rules.iter().filter(|_| !self.is_away).filter_map(Rule::deadline);
        agents.chain(self.connections.next_expiry()).min()
    }

    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant, out: &mut Outgoing) {
        self.expire(EXPIRED_A_DEADLINE, now, out);
        for index in 0..self.rules.len() {
            if !self.is_away && self.rules[index].is_due(now) {
                let budget = self.budget_of(index);
                self.rules[index].call_due(now, budget, &mut self.outbox);
                self.count_broken_by_panic(index);
                self.send_outbox(None, now, out);
            }
        }
    }

    /// Has every agent send on what it holds. From then on all traffic passes untouched, until the
    /// next reload.
    pub fn drain(&mut self, now: Instant, out: &mut Outgoing) {
        self.is_drained = true;
        for index in 0..self.rules.len() {
            self.drain_rule(index, now, out);
        }
    }

    /// Traffic goes past from now on, until [`Engine::on_return`]: the timers of agents rest.
    pub const fn step_out(&mut self) {
        self.is_away = true;
    }

    /// Has agents send on what they hold, because traffic bypasses them for a while: what would let
    /// them send it later goes past them. They may be called on as before.
    pub fn send_held(&mut self, now: Instant, out: &mut Outgoing) {
        for index in 0..self.rules.len() {
            if self.rules[index].held() > 0 {
                self.drain_rule(index, now, out);
            }
        }
    }

    /// Frames went past for a while, or before this engine was there: tells the agents.
    pub fn on_return(&mut self, now: Instant, out: &mut Outgoing) {
        self.is_away = false;
        for index in 0..self.rules.len() {
            let _ = self.call(index, now, |agent, cx| agent.on_return(cx));
            self.send_outbox(None, now, out);
        }
    }

    fn drain_rule(&mut self, index: usize, now: Instant, out: &mut Outgoing) {
        let _ = self.call(index, now, |agent, cx| agent.drain(cx));
        self.send_outbox(None, now, out);
    }

    fn on_packet(&mut self, in_hand: InHand, now: Instant, out: &mut Outgoing) {
        let InHand { port, side, ref link, ref packet, .. } = in_hand;
        if let Some(quotation) = Quotation::of(packet) {
            return self.on_error(quotation, in_hand, now, out);
        }
        let is_of_use = self.may_be_of_use(packet) && !link.is_to_a_group();
        let Some(key) = packet.flow_key().filter(|_| is_of_use) else {
            self.counters.passed.not_tcp += 1;
            out.frames.push((port, in_hand.frame));
            return;
        };
        let flags = packet.tcp().map_or(TcpFlags(0), |tcp| tcp.flags);
        let Some(slot) = self.meet(side.connection(key), flags, now, out) else {
            out.frames.push((port, in_hand.frame));
            return;
        };
        self.count(slot, |connection, hop_rtts| connection.note(packet, (side, port, link), now, hop_rtts));
        let connection = self.connections.at(slot);
        let rule = connection.rule;
        let is_ready = connection.is_two_way() || connection.may_be_one_way() || flags.has(TcpFlags::SYN);
        self.connections.used(slot, now);
        self.watch(slot, now, out);
        let is_drained = self.is_drained && self.obligation(slot).is_free();
        let passed = &mut self.counters.passed;
        match rule {
            None => passed.unwanted += 1,
            Some(_) if self.connections.at(slot).aside.is_some() => passed.aside += 1,
            Some(_) if is_drained => passed.drained += 1,
            Some(_) if !is_ready => passed.one_way += 1,
            Some(rule) => return self.ask(usize::from(rule), in_hand, slot, now, out),
        }
        self.departs(slot, packet, side.opposite(), now);
        out.frames.push((port, in_hand.frame));
    }

    /// An ICMP error message: for the agent of the connection that it is about, if there is one.
    fn on_error(&mut self, quotation: Quotation, in_hand: InHand, now: Instant, out: &mut Outgoing) {
        // What it is about went the other way.
        let slot = self.connections.find(in_hand.side.opposite().connection(quotation.flow));
        let agent = slot.and_then(|slot| {
            let connection = self.connections.at(slot);
            Some((slot, connection.rule.filter(|_| connection.aside.is_none())?))
        });
        if let Some((slot, rule)) =
            agent.filter(|(slot, _)| !self.is_drained || !self.obligation(*slot).is_free())
        {
            self.ask(usize::from(rule), in_hand, slot, now, out);
        } else {
            self.counters.passed.not_tcp += 1;
            out.frames.push((in_hand.port, in_hand.frame));
        }
    }

    /// Whether an agent may have a use for a packet: for any of TCP, and for what may be RTP if one
    /// takes datagrams. Of UDP the BPF programs let nothing else come here either.
    fn may_be_of_use(&self, packet: &Packet) -> bool {
        let Transport::Udp(udp) = packet.transport() else { return packet.tcp().is_some() };
        let begins_like_rtp =
            || packet.payload().slice(0, 1).octets().first().is_some_and(|octet| rtp::may_begin_with(*octet));
        self.rules.iter().any(|rule| rule.takes_datagrams)
            && udp.source_port.min(udp.destination_port) >= FIRST_USER_PORT
            && begins_like_rtp()
    }

    /// Finds the connection of a packet, or makes one. `None` if the packet is to pass without.
    fn meet(&mut self, key: FlowKey, flags: TcpFlags, now: Instant, out: &mut Outgoing) -> Option<Slot> {
        if let Some(slot) = self.connections.find(key) {
            if self.connections.at(slot).is_reopened_by(flags) {
                // The agent that still owes something of the old one judges the SYN.
                let is_free = self.obligation(slot).is_free();
                let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
                let connection = self.connections.at_mut(slot);
                let (kept_rule, leaving) = (connection.rule, connection.leaving);
                connection.reopen(if is_free { rule } else { kept_rule }, now);
                connection.leaving = leaving.filter(|_| !is_free);
                if let Some(clients) = &mut self.clients {
                    clients.begin_again(self.connections.at(slot).client);
                }
                self.counters.counts.connections += 1;
            }
            return Some(slot);
        }
        let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
        let is_measured = self.is_passive && key.protocol == Protocol::Tcp && self.traffic.matches(key);
        // What ends a connection that we do not know begins none.
        if (rule.is_none() && !is_measured) || flags.has(TcpFlags::RST) {
            self.counters.passed.unwanted += 1;
            return None;
        }
        let state = TrackedConnection::first_state(key.protocol, flags);
        if let Some(spared) = self.connections.spared(state, now, |key, rule| is_free(&self.rules, key, rule))
        {
            self.counters.counts.evicted += 1;
            self.forget(spared, now, out);
        }
        let slot = self.remember(key, TrackedConnection::new(rule, state, now), now);
        self.counters.passed.table_full += u64::from(slot.is_none());
        slot
    }

    /// Asks a rule's agent what becomes of the packet in hand, and does it.
    fn ask(&mut self, rule: usize, in_hand: InHand, slot: Slot, now: Instant, out: &mut Outgoing) {
        let InHand { port, side, link, frame, mut packet } = in_hand;
        let verdict = self.call_about(slot, rule, now, |agent, cx| agent.on_packet(&mut packet, side, cx));
        let Some(verdict) = verdict else {
            self.counters.passed.broken_agent += 1;
            self.departs(slot, &packet, side.opposite(), now);
            out.frames.push((port, frame));
            return;
        };
        self.rules[rule].counters.count_verdict(verdict);
        self.send_outbox(Some(slot), now, out);
        if verdict == Verdict::Forward {
            self.departs(slot, &packet, side.opposite(), now);
            // What an agent has made too large goes on as it came.
            let edited = Frame::of(&packet, &link, Some(&frame));
            self.counters.counts.too_large += u64::from(edited.is_err());
            out.frames.push((port, edited.unwrap_or(frame)));
        } else {
            let connection = self.connections.at_mut(slot);
            connection.kept_by_agent = connection.kept_by_agent.saturating_add(1);
        }
    }

    /// A packet that came goes to this side.
    fn departs(&mut self, slot: Slot, packet: &Packet, to: Side, now: Instant) {
        self.count(slot, |connection, _| connection.hop.departed(packet, to, false, now));
    }

    /// Sends what an agent put into the outbox. A packet to one side goes as if it had come from
    /// the other: by the port and with the link header of its connection's own packets. One of no
    /// connection, such as an ICMP message, goes with `in_hand`'s.
    fn send_outbox(&mut self, in_hand: Option<Slot>, now: Instant, out: &mut Outgoing) {
        out.bypasses.append(&mut self.outbox.bypasses);
        self.leave_alone(now, out);
        if self.outbox.packets.is_empty() {
            return;
        }
        let mut packets = std::mem::take(&mut self.outbox.packets);
        for (to, packet) in packets.drain(..) {
            let slot = match packet.flow_key() {
                Some(key) => self.connections.find(to.opposite().connection(key)),
                None => in_hand,
            };
            let Some(slot) = slot else {
                self.counters.counts.unaddressed += 1;
                continue;
            };
            let connection = self.connections.at_mut(slot);
            connection.sent_by_agent = connection.sent_by_agent.saturating_add(1);
            let Some(arrival) = &connection.from(to.opposite()).arrival else {
                self.counters.counts.unaddressed += 1;
                continue;
            };
            match Frame::of(&packet, &arrival.link, None) {
                Ok(frame) => {
                    out.frames.push((arrival.port, frame));
                    self.count(slot, |connection, _| {
                        connection.hop.departed(&packet, to, true, now);
                    });
                }
                Err(_) => self.counters.counts.too_large += 1,
            }
        }
        self.outbox.packets = packets;
    }

    fn expire(&mut self, most: usize, now: Instant, out: &mut Outgoing) {
        for _ in 0..most {
            let Some(slot) = self.connections.expired(now) else { return };
            if self.obligation(slot).is_free() {
                self.counters.counts.expired += 1;
                self.forget(slot, now, out);
            } else {
                // Its ends cannot go on without the agent, which finds out whether they are still there.
                self.connections.keep(slot, now);
            }
        }
    }

    fn forget(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        self.count_broken(slot);
        self.take_back(slot, out);
        self.release(slot, now, out);
        if let Some(clients) = &mut self.clients {
            clients.end(self.connections.at(slot).client);
        }
        self.connections.forget(slot);
    }

    /// Puts a connection into the table, and counts it; `None` if there is no room.
    fn remember(&mut self, key: FlowKey, connection: TrackedConnection, now: Instant) -> Option<Slot> {
        let slot = self.connections.insert(key, connection, now)?;
        self.counters.counts.connections += 1;
        self.begin_at_client(slot);
        Some(slot)
    }

    /// Counts a connection for its client from now on, if clients are counted.
    fn begin_at_client(&mut self, slot: Slot) {
        if let Some(clients) = &mut self.clients {
            // Keys are from the core side to the radio side.
            let (client, _) = self.connections.key(slot).destination;
            self.connections.at_mut(slot).client = clients.begin(client);
        }
    }

    /// Counts for this many clients from now on; `None` for none. Connections stay with the counters
    /// that they have.
    fn set_most_clients(&mut self, most: Option<usize>) {
        let Some(most) = most else {
            self.clients = None;
            return;
        };
        if let Some(clients) = &mut self.clients {
            clients.set_most(most);
            return;
        }
        self.clients = Some(Clients::of_at_most(most));
        for slot in self.connections.slots() {
            self.begin_at_client(slot);
        }
    }

    /// Changes what is counted of a connection, and adds the difference to the totals and to its client.
    fn count(&mut self, slot: Slot, change: impl FnOnce(&mut TrackedConnection, &mut HopRtts)) {
        let connection = self.connections.at_mut(slot);
        let (carried, rtt) = (connection.carried(), connection.hop.rtt_hop());
        change(connection, &mut self.hop_rtts);
        let more = connection.carried().since(carried);
        self.hop = self.hop.plus(more.hop);
        let Some(clients) = &mut self.clients else { return };
        clients.carry(connection.client, more);
        if let Some(now) = connection.hop.rtt_hop().filter(|now| Some(*now) != rtt) {
            clients.measure(connection.client, now, connection.hop.rtt_min_hop().unwrap_or(now));
        }
    }

    /// Has the agent of a connection send on what it holds of it. It will see no more of it.
    fn release(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        let key = self.connections.key(slot);
        // Also what an agent has let pass that is there no more.
        out.bypasses.push(Bypass { flow: key, limits: None });
        let Some(rule) = self.connections.at(slot).rule else { return };
        let _ = self.call(usize::from(rule), now, |agent, cx| agent.release(key, cx));
        self.send_outbox(Some(slot), now, out);
    }
}

/// The first rule that wants a connection, unless it leaves it alone, or has no use for datagrams.
fn rule_for(traffic: &Selector, rules: &[Rule], key: FlowKey) -> Option<u16> {
    if !traffic.matches(key) {
        return None;
    }
    let index = rules.iter().position(|rule| rule.traffic.matches(key))?;
    let takes = key.protocol == Protocol::Tcp || rules[index].takes_datagrams;
    (takes && !rules[index].leaves_alone()).then_some(index as u16)
}
