//! The engine: frames in, agents, frames out. It reads no clock and touches no device.

mod aside;
mod calls;
mod columns;
mod obligations;
mod passed;
mod prefetch;
mod reload;
mod report;
#[cfg(feature = "roaming")]
mod roaming;
#[cfg(test)]
mod tests;
mod transfer;
#[cfg(feature = "roaming")]
mod whereabouts;

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
#[cfg(feature = "roaming")]
pub use roaming::{ClientLoad, Given, Served};
pub use transfer::SavedConnection;
#[cfg(feature = "roaming")]
pub use whereabouts::RoamingCounters;

/// The maximum number of expired connections that one call removes, so that a call's work is
/// bounded.
const MAX_EXPIRED_PER_FRAME: usize = 2;
const MAX_EXPIRED_PER_DEADLINE: usize = 256;

/// Runs one agent per rule over the frames of a gateway's ports.
///
/// - Frames that the engine cannot parse, or that no rule matches, are forwarded at once and
///   unchanged.
/// - Packets that an agent sends leave before the current packet.
/// - An agent sees the SYNs of a connection, and other packets only after the engine has seen both
///   directions.
/// - A panic in an agent costs the agent's state, never the current packet and never the process.
/// - Work and memory per frame are bounded, and a forwarded frame needs no allocation.
pub struct Engine {
    ports: Vec<Port>,
    traffic: Selector,
    /// The plan's rules in their order, followed by rules of earlier plans whose agents still have
    /// obligations.
    rules: Vec<Rule>,
    /// The number of rules that belong to the plan.
    planned: usize,
    /// Whether the engine only measures connections and has no rules.
    is_passive: bool,
    connections: ConnectionTable,
    /// The budget of all agents together.
    budget: Budget,
    stepping_aside: SteppingAside,
    prefetch: Prefetch,
    outbox: Outbox,
    counters: Counters,
    hop_rtts: HopRtts,
    /// The sum over all connections.
    hop: HopCounters,
    /// `None` if clients are not counted.
    clients: Option<Clients>,
    /// The counters of removed rules.
    retired: RuleCounters,
    /// Whether all traffic passes unchanged until the next reload.
    is_drained: bool,
    /// Whether agents may not take on new obligations.
    refuses_obligations: bool,
    /// Whether traffic bypasses the engine. Agents would not see the packets that they wait for.
    is_away: bool,
    /// The clients that may roam; `None` if none may.
    #[cfg(feature = "roaming")]
    roaming: Option<Box<whereabouts::Whereabouts<CurrentPacket>>>,
}

/// The output of the engine, to be processed in order. The caller owns it and empties it.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Frames to send, each with its port.
    pub frames: Vec<(PortId, Frame)>,
    /// Flows that may now bypass the engine, which then receives only copies or headers.
    pub bypasses: Vec<Bypass>,
    /// Connections that the kernel need not divert any more, keyed from core to radio.
    pub set_aside: Vec<FlowKey>,
    /// Connections that were set aside and are to be diverted again; to be processed before
    /// `set_aside`.
    pub diverted_again: Vec<FlowKey>,
}

/// The current frame and its packet.
struct CurrentPacket {
    port: PortId,
    side: Side,
    link: LinkHeader,
    frame: Frame,
    packet: Packet,
}

impl Engine {
    /// Creates an engine for these ports.
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
            clients: plan.max_clients.map(Clients::with_capacity),
            retired: RuleCounters::default(),
            is_drained: false,
            refuses_obligations: false,
            is_away: false,
            #[cfg(feature = "roaming")]
            roaming: None,
        }
    }

    /// Processes a frame received on a port.
    pub fn on_frame(&mut self, port: PortId, frame: Frame, now: Instant, out: &mut Outgoing) {
        self.expire(MAX_EXPIRED_PER_FRAME, now, out);
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
            Ok((link, packet)) => self.on_packet(CurrentPacket { port, side, link, frame, packet }, now, out),
            Err(why) => {
                self.counters.passed.count(&why);
                out.frames.push((port, frame));
            }
        }
    }

    /// Passes an event of the link layer to the agent of its connection, if that agent needs it.
    pub fn on_link(&mut self, event: &LinkEvent<'_>, now: Instant, out: &mut Outgoing) {
        // Packets that this node transmits came from the core side.
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

    /// The time at which [`Engine::on_deadline`] is next due.
    pub fn deadline(&self) -> Option<Instant> {
        let agents = self.rules.iter().filter(|_| !self.is_away).filter_map(Rule::deadline);
        #[cfg(feature = "roaming")]
        let agents = agents.chain(self.end_of_wait());
        agents.chain(self.connections.next_expiry()).min()
    }

    /// Expires connections and calls the agents whose deadline has passed. Early and repeated calls
    /// are harmless.
    pub fn on_deadline(&mut self, now: Instant, out: &mut Outgoing) {
        self.expire(MAX_EXPIRED_PER_DEADLINE, now, out);
        #[cfg(feature = "roaming")]
        self.end_waits(now, out);
        for index in 0..self.rules.len() {
            if !self.is_away && self.rules[index].is_due(now) {
                let budget = self.budget_of(index);
                self.rules[index].call_due(now, budget, &mut self.outbox);
                self.count_broken_by_panic(index);
                self.send_outbox(None, now, out);
            }
        }
    }

    /// Has every agent send the packets that it holds. After that, all traffic passes unchanged
    /// until the next reload.
    pub fn drain(&mut self, now: Instant, out: &mut Outgoing) {
        self.is_drained = true;
        #[cfg(feature = "roaming")]
        self.pass_all(out);
        for index in 0..self.rules.len() {
            self.drain_rule(index, now, out);
        }
    }

    /// Stops the agents' timers until [`Engine::on_return`], because traffic bypasses the engine.
    pub const fn step_out(&mut self) {
        self.is_away = true;
    }

    /// Has agents send the packets that they hold: while traffic bypasses them, they do not see the
    /// packets that would release these later. They may be called as before.
    pub fn send_held(&mut self, now: Instant, out: &mut Outgoing) {
        #[cfg(feature = "roaming")]
        self.pass_all(out);
        for index in 0..self.rules.len() {
            if self.rules[index].held() > 0 {
                self.drain_rule(index, now, out);
            }
        }
    }

    /// Informs the agents that frames have bypassed them for some time, or passed before this
    /// engine existed.
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

    fn on_packet(&mut self, current: CurrentPacket, now: Instant, out: &mut Outgoing) {
        let CurrentPacket { port, side, ref link, ref packet, .. } = current;
        if let Some(quotation) = Quotation::from_message(packet) {
            return self.on_error(quotation, current, now, out);
        }
        let is_of_use = self.may_be_of_use(packet) && !link.is_to_a_group();
        let Some(key) = packet.flow_key().filter(|_| is_of_use) else {
            self.counters.passed.not_tcp += 1;
            out.frames.push((port, current.frame));
            return;
        };
        let key = side.connection(key);
        let flags = packet.tcp().map_or(TcpFlags(0), |tcp| tcp.flags);
        let slot = self.find(key, flags, now);
        #[cfg(feature = "roaming")]
        if slot.is_none()
            && let Some(client) = self.awaits(&current, key, now)
        {
            return self.detain(client, current, key, now, out);
        }
        let Some(slot) = slot.or_else(|| self.insert(key, flags, now, out)) else {
            out.frames.push((port, current.frame));
            return;
        };
        self.count(slot, |connection, hop_rtts| connection.record(packet, (side, port, link), now, hop_rtts));
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
            Some(rule) => return self.consult_agent(usize::from(rule), current, slot, now, out),
        }
        self.departs(slot, packet, side.opposite(), now);
        out.frames.push((port, current.frame));
    }

    /// Passes an ICMP error message to the agent of the connection that it quotes, if that has one.
    fn on_error(&mut self, quotation: Quotation, current: CurrentPacket, now: Instant, out: &mut Outgoing) {
        // The quoted packet went in the opposite direction.
        let slot = self.connections.find(current.side.opposite().connection(quotation.flow));
        let agent = slot.and_then(|slot| {
            let connection = self.connections.at(slot);
            Some((slot, connection.rule.filter(|_| connection.aside.is_none())?))
        });
        if let Some((slot, rule)) =
            agent.filter(|(slot, _)| !self.is_drained || !self.obligation(*slot).is_free())
        {
            self.consult_agent(usize::from(rule), current, slot, now, out);
        } else {
            self.counters.passed.not_tcp += 1;
            out.frames.push((current.port, current.frame));
        }
    }

    /// Whether an agent may use a packet: any TCP packet, and possible RTP packets if an agent
    /// takes datagrams. The BPF programs apply the same filter to UDP.
    fn may_be_of_use(&self, packet: &Packet) -> bool {
        let Transport::Udp(udp) = packet.transport() else { return packet.tcp().is_some() };
        let begins_like_rtp =
            || packet.payload().slice(0, 1).octets().first().is_some_and(|octet| rtp::may_begin_with(*octet));
        self.rules.iter().any(|rule| rule.takes_datagrams)
            && udp.source_port.min(udp.destination_port) >= FIRST_USER_PORT
            && begins_like_rtp()
    }

    /// Finds or inserts the connection of a packet. `None` if the packet is forwarded without one.
    fn find_or_insert(
        &mut self,
        key: FlowKey,
        flags: TcpFlags,
        now: Instant,
        out: &mut Outgoing,
    ) -> Option<Slot> {
        self.find(key, flags, now).or_else(|| self.insert(key, flags, now, out))
    }

    /// Finds the connection of a packet, which may begin another one between its ports.
    fn find(&mut self, key: FlowKey, flags: TcpFlags, now: Instant) -> Option<Slot> {
        let slot = self.connections.find(key)?;
        if self.connections.at(slot).is_reopened_by(flags) {
            // An agent that still has an obligation for the old connection judges the SYN.
            let is_free = self.obligation(slot).is_free();
            let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
            let connection = self.connections.at_mut(slot);
            let (kept_rule, draining) = (connection.rule, connection.draining);
            connection.reopen(if is_free { rule } else { kept_rule }, now);
            connection.draining = draining.filter(|_| !is_free);
            if let Some(clients) = &mut self.clients {
                clients.begin_again(self.connections.at(slot).client);
            }
            self.counters.counts.connections += 1;
        }
        Some(slot)
    }

    /// Inserts the connection of a packet. `None` if the packet is forwarded without one.
    fn insert(&mut self, key: FlowKey, flags: TcpFlags, now: Instant, out: &mut Outgoing) -> Option<Slot> {
        let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
        let is_measured = self.is_passive && key.protocol == Protocol::Tcp && self.traffic.matches(key);
        // A reset of an unknown connection does not create one.
        if (rule.is_none() && !is_measured) || flags.has(TcpFlags::RST) {
            self.counters.passed.unwanted += 1;
            return None;
        }
        let state = TrackedConnection::first_state(key.protocol, flags);
        let may_evict = |key, rule| is_free(&self.rules, key, rule);
        if let Some(victim) = self.connections.eviction_candidate(state, now, may_evict) {
            self.counters.counts.evicted += 1;
            self.forget(victim, now, out);
        }
        let slot = self.remember(key, TrackedConnection::new(rule, state, now), now);
        self.counters.passed.table_full += u64::from(slot.is_none());
        slot
    }

    /// Calls a rule's agent for the current packet, and carries out its verdict.
    fn consult_agent(
        &mut self,
        rule: usize,
        current: CurrentPacket,
        slot: Slot,
        now: Instant,
        out: &mut Outgoing,
    ) {
        let CurrentPacket { port, side, link, frame, mut packet } = current;
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
            // A packet that an agent has made too large is forwarded as received.
            let edited = Frame::from_packet(&packet, &link, Some(&frame));
            self.counters.counts.too_large += u64::from(edited.is_err());
            out.frames.push((port, edited.unwrap_or(frame)));
        } else {
            let connection = self.connections.at_mut(slot);
            connection.kept_by_agent = connection.kept_by_agent.saturating_add(1);
        }
    }

    /// Records that a received packet is forwarded to this side.
    fn departs(&mut self, slot: Slot, packet: &Packet, to: Side, now: Instant) {
        self.count(slot, |connection, _| connection.hop.departed(packet, to, false, now));
    }

    /// Sends the packets that an agent put into the outbox. A packet to one side is sent as if it
    /// had come from the other: with the port and the link header of its connection's own packets.
    /// A packet without a connection, such as an ICMP message, uses those of `current`.
    fn send_outbox(&mut self, current: Option<Slot>, now: Instant, out: &mut Outgoing) {
        out.bypasses.append(&mut self.outbox.bypasses);
        self.set_unused_aside(now, out);
        if self.outbox.packets.is_empty() {
            return;
        }
        let mut packets = std::mem::take(&mut self.outbox.packets);
        for (to, packet) in packets.drain(..) {
            let slot = match packet.flow_key() {
                Some(key) => self.connections.find(to.opposite().connection(key)),
                None => current,
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
            match Frame::from_packet(&packet, &arrival.link, None) {
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

    fn expire(&mut self, max: usize, now: Instant, out: &mut Outgoing) {
        for _ in 0..max {
            let Some(slot) = self.connections.expired(now) else { return };
            if self.obligation(slot).is_free() {
                self.counters.counts.expired += 1;
                self.forget(slot, now, out);
            } else {
                // The endpoints need the agent to continue. It finds out whether they are still
                // alive.
                self.connections.keep(slot, now);
            }
        }
    }

    fn forget(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        self.count_broken(slot);
        self.restore(slot, out);
        self.release(slot, now, out);
        if let Some(clients) = &mut self.clients {
            clients.end(self.connections.at(slot).client);
        }
        self.connections.forget(slot);
    }

    /// Inserts a connection into the table and counts it. `None` if the table is full.
    fn remember(&mut self, key: FlowKey, connection: TrackedConnection, now: Instant) -> Option<Slot> {
        let slot = self.connections.insert(key, connection, now)?;
        self.counters.counts.connections += 1;
        self.begin_at_client(slot);
        Some(slot)
    }

    /// Starts to count a connection for its client, if clients are counted.
    fn begin_at_client(&mut self, slot: Slot) {
        if let Some(clients) = &mut self.clients {
            // Keys are from the core side to the radio side.
            let (client, _) = self.connections.key(slot).destination;
            self.connections.at_mut(slot).client = clients.begin(client);
        }
    }

    /// Sets the maximum number of clients with counters of their own; `None` counts no clients.
    /// Existing connections keep their counters.
    fn set_max_clients(&mut self, max: Option<usize>) {
        let Some(max) = max else {
            self.clients = None;
            return;
        };
        if let Some(clients) = &mut self.clients {
            clients.set_capacity(max);
            return;
        }
        self.clients = Some(Clients::with_capacity(max));
        for slot in self.connections.slots() {
            self.begin_at_client(slot);
        }
    }

    /// Updates a connection with `change`, and adds the increase of its counters to the totals and
    /// to its client's counters.
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

    /// Has the agent of a connection send the packets that it holds for it. The agent will not see
    /// the connection again.
    fn release(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        let key = self.connections.key(slot);
        // This also ends a bypass that an agent allowed which no longer exists.
        out.bypasses.push(Bypass { flow: key, limits: None });
        let Some(rule) = self.connections.at(slot).rule else { return };
        let _ = self.call(usize::from(rule), now, |agent, cx| agent.release(key, cx));
        self.send_outbox(Some(slot), now, out);
    }
}

/// The first rule that matches a connection, unless it has no agent, or cannot use datagrams.
fn rule_for(traffic: &Selector, rules: &[Rule], key: FlowKey) -> Option<u16> {
    if !traffic.matches(key) {
        return None;
    }
    let index = rules.iter().position(|rule| rule.traffic.matches(key))?;
    let takes = key.protocol == Protocol::Tcp || rules[index].takes_datagrams;
    (takes && !rules[index].leaves_alone()).then_some(index as u16)
}
