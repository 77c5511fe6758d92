//! The ARQ agent: the sender's and the receiver's side in one.

mod connections;
mod core_side;
mod radio_side;

use std::net::IpAddr;

use lasthop_agent::counter::{ACKS_GENERATED, LOCAL_RETRANSMITS};
use lasthop_agent::report::Cause;
use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, Fate, FlowState, FlowTable, ImportError, LinkEvent,
    LinkSenses, Obligation, Owed, Report, Scope, Side, Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Packet};

use super::control::LocalAck;
use super::flow::LleFlow;
use super::mark::Mark;
use super::neighbors::Neighbors;
use super::place::Place;
use super::settings::Settings;
use super::shares::{Account, Shares, on_wire_in_full};
use crate::scheme::Role;

/// The ARQ agent of LLE-TCP, for an access point, a last-hop router or a mobile host. It needs the
/// fate of each frame.
#[derive(Debug)]
pub struct Lle {
    pub(super) settings: Settings,
    place: Place,
    /// The flows, keyed by the direction from the core to the radio side, each with its timer.
    pub(super) flows: FlowTable<LleFlow>,
    /// At a node that suppresses ACKs: the neighbors with an agent.
    neighbors: Neighbors,
    /// Octets of memory of all flows, without their table.
    octets: usize,
    /// Octets of all flows in the link layer's queue, and the number of those flows.
    queued: u64,
    queueing: u32,
    /// Suppressed ACKs that pass later.
    owed_acks: u64,
    owed: Owed,
}

impl Lle {
    /// An agent without flows, at a node in this role.
    pub fn new(settings: Settings, role: Role) -> Self {
        Self::at(Place::Node(role), settings)
    }

    /// An agent without flows, at any place.
    pub fn at(place: Place, settings: Settings) -> Self {
        Self {
            flows: FlowTable::new(settings.eviction_grace),
            neighbors: Neighbors::new(settings.registration),
            settings,
            place,
            octets: 0,
            queued: 0,
            queueing: 0,
            owed_acks: 0,
            owed: Owed::default(),
        }
    }

    /// Forgets a flow, with its packets.
    pub(super) fn discard(&mut self, key: FlowKey) {
        if let Some(flow) = self.flows.remove(key) {
            self.update_totals(Account::from_flow(&flow), Account::default());
        }
    }

    /// Replaces the state of a flow.
    pub(super) fn replace(&mut self, key: FlowKey, flow: LleFlow, budget: Budget) {
        let _ = self.with(key, budget, |known, _, _| *known = flow);
    }

    /// Octets that senders consider delivered only because of this agent's ACKs: they would be lost
    /// with it if the receivers had not received them.
    pub fn unproven(&self) -> u64 {
        self.flows.keys().filter_map(|key| self.flows.peek(key)).map(|flow| u64::from(flow.unproven())).sum()
    }

    /// Whether data to a host is acknowledged here.
    fn is_last_hop(&self, host: IpAddr, cx: &Context<'_>) -> bool {
        self.place.confirms_to(host, cx)
    }

    /// Whether ACKs are suppressed here.
    const fn receives(&self) -> bool {
        self.place.receives()
    }

    /// Records whether the neighbor of this call has an agent.
    fn record_neighbor(&mut self, has_agent: bool, cx: &Context<'_>) {
        let Some(neighbor) = cx.neighbor().filter(|_| self.receives()) else { return };
        if has_agent {
            self.neighbors.on_announcement(neighbor, cx.budget().room(0, self.octets()).in_all, cx.now());
        } else {
            self.neighbors.forget(neighbor);
        }
    }

    /// Forgets which neighbors have an agent: a successor learns it again.
    pub(super) fn forget_neighbors(&mut self) {
        self.neighbors = Neighbors::new(self.settings.registration);
    }

    /// Whether the neighbor of this call has recently had an agent.
    fn has_registered(&self, cx: &Context<'_>) -> bool {
        cx.neighbor().is_some_and(|neighbor| self.neighbors.has_agent(neighbor, cx.now()))
    }

    /// Calls `f` on a flow's state, and updates the accounts and its timer.
    pub(super) fn with<R>(
        &mut self,
        key: FlowKey,
        budget: Budget,
        f: impl FnOnce(&mut LleFlow, &Settings, Shares) -> R,
    ) -> Option<R> {
        let in_all = self.octets();
        let slot = self.flows.find(key)?;
        let flow = self.flows.get_mut(slot)?;
        let before = Account::from_flow(flow);
        let shares = Shares {
            room: budget.room(before.octets, in_all),
            free: (self.settings.queue as u64).saturating_sub(self.queued),
            queueing: self.queueing,
        };
        let result = f(flow, &self.settings, shares);
        let after = Account::from_flow(flow);
        let due = flow.deadline(&self.settings);
        self.update_totals(before, after);
        match due {
            // Timers are lazy: a running one that expires too early has no effect.
            Some(due) if self.flows.timer_at(slot).is_none_or(|running| running > due) => {
                self.flows.set_timer_at(slot, due);
            }
            Some(_) => {}
            None => self.flows.clear_timer_at(slot),
        }
        Some(result)
    }

    /// Records that the link layer reported a packet's fate.
    pub(super) fn on_fate(&mut self, packet: &Packet, key: FlowKey) {
        let Some(flow) = self.flows.peek_mut(key) else { return };
        let before = flow.confirming.queued();
        flow.confirming.on_fate(packet);
        let after = flow.confirming.queued();
        self.count_queued(before, after);
    }

    fn count_queued(&mut self, before: u32, after: u32) {
        self.queued = self.queued - u64::from(before) + u64::from(after);
        self.queueing = self.queueing - u32::from(before > 0) + u32::from(after > 0);
    }

    fn update_totals(&mut self, before: Account, after: Account) {
        self.octets = self.octets - before.octets + after.octets;
        self.count_queued(before.queued, after.queued);
        self.owed_acks = self.owed_acks - u64::from(before.owes) + u64::from(after.owes);
        self.owed.change(before.obligation, after.obligation);
    }

    /// Sends a copy with current numbers.
    pub(super) fn send_again(&self, key: FlowKey, mut copy: Packet, cause: Cause, cx: &mut Context<'_>) {
        if let Some(flow) = self.flows.peek(key) {
            flow.freshen(&mut copy);
        }
        if let Some(tcp) = copy.tcp() {
            cx.report(Report::new(&LOCAL_RETRANSMITS).at(tcp.seq).which(cause.name()));
        }
        cx.send(Side::Radio, copy);
    }

    /// Sends an ACK to the local TCP.
    pub(super) fn send_local_ack(&self, key: FlowKey, local: LocalAck, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.peek(key) else { return };
        let window = on_wire_in_full(local.window, flow.radio_shift().unwrap_or(0));
        cx.report(Report::new(&ACKS_GENERATED).at(local.ack));
        cx.send(Side::Core, flow.receiver.ack(key, local.ack, local.echo, window));
    }
}

impl Agent for Lle {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let Some(key) = packet.flow_key().map(|key| from.connection(key)) else { return Verdict::Forward };
        match from {
            Side::Core => self.on_core(packet, key, cx),
            Side::Radio => self.on_radio(packet, key, cx),
        }
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let LinkEvent::Frame { packet, fate, .. } = event else { return };
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        if packet.segment_len() == 0 {
            return;
        }
        let is_promised = Mark::from_segment(tcp).has(Mark::PROMISE);
        match fate {
            Fate::Delivered => self.on_delivered(packet, key, is_promised, cx),
            Fate::GivenUp => self.on_given_up(packet, key, is_promised, cx),
            Fate::FirstTransmissionFailed => {}
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.flows.prefetch(connections, |_| {});
    }

    fn deadline(&self) -> Option<Deadline> {
        let timer = self.flows.next_timer().map(|at| Deadline { at, reason: "evidence" });
        let idle = self.idle_deadline().map(|at| Deadline { at, reason: "idle connection" });
        Deadline::earliest(timer, idle)
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.flows.pop_timer(cx.now()) {
            self.on_timer(key, cx);
        }
        while self.idle_deadline().is_some_and(|at| at <= cx.now())
            && let Some((_, key)) = self.flows.idlest()
        {
            if self.flows.peek(key).is_some_and(LleFlow::awaits_proof) {
                self.flows.touch(key, cx.now());
            } else {
                self.abandon(key, cx);
            }
        }
    }

    fn needs(&self) -> LinkSenses {
        self.place.needs()
    }
}

impl Accounts for Lle {
    fn held(&self) -> u64 {
        self.owed_acks
    }

    fn octets(&self) -> usize {
        self.octets + self.flows.octets() + self.neighbors.octets()
    }

    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.flows.peek(connection).map_or(Obligation::Free, LleFlow::obligation)
    }

    fn owed(&self) -> Owed {
        self.owed
    }
}

impl Transfer for Lle {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        let owes = |key: &FlowKey| self.flows.peek(*key).is_some_and(|flow| flow.receiving.owes());
        let owing: Vec<FlowKey> = self.flows.keys().filter(owes).collect();
        for key in owing {
            let owed = self.with(key, cx.budget(), |flow, _, _| {
                flow.receiving.take_owed(flow.core_shift().unwrap_or(0))
            });
            owed.flatten().into_iter().for_each(|owed| cx.send(Side::Radio, owed));
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.forget(connection, cx);
    }
}
