//! The agent, for an access point: the flow table, the hops of the flows, and the memory account.

use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, FlowState, FlowTable, ImportError, Room, Scope, Side, Slot,
    Transfer, Verdict,
};
use lasthop_hop::last_hop::{Hops, LastHop, LossFreeRun, Targets};
use lasthop_packet::{FlowKey, Packet, PacketTooBig, TcpFlags};

use super::flow::{Recovery, SnoopFlow};
use super::settings::{Settings, UplinkHalf};
use super::uplink::Uplink;

/// The Snoop agent, with one method of loss detection. It needs no link-layer information.
#[derive(Debug)]
pub struct Snoop<R> {
    pub(super) settings: Settings,
    /// The targets of the local windows.
    pub(super) targets: Targets,
    /// The flows, keyed by the direction from the core to the radio side, each with its local
    /// timer.
    pub(super) flows: FlowTable<SnoopFlow<R>>,
    /// The hops of connections with a local window, one for each mobile host.
    pub(super) hops: Hops,
    /// The loss record of all hops together.
    pub(super) loss_free_run: LossFreeRun,
    /// Octets of memory of all flows, without their table.
    pub(super) octets: usize,
    /// Octets of other memory: tables, packets that wait for hops, and memory that another owner
    /// has taken from the same budget.
    pub(super) other_octets: usize,
    /// Octets of the tables, a part of `other_octets`.
    tables: usize,
    /// Octets that another owner has taken, a part of `other_octets`.
    foreign_octets: usize,
    /// The number of packets that wait for room in a local window.
    pub(super) held: u64,
    /// The state of uploads, if that half is enabled.
    pub(super) uplink: Option<Uplink>,
}

impl<R: Recovery> Snoop<R> {
    /// An agent without flows.
    pub fn new(settings: Settings) -> Self {
        let flows = FlowTable::new(settings.eviction_grace);
        let uplink = (settings.uplink == UplinkHalf::Nack).then(|| Uplink::new(&settings));
        let (targets, hops, loss_free_run) = (settings.targets(), Hops::new(), LossFreeRun::default());
        Self {
            settings,
            targets,
            flows,
            hops,
            loss_free_run,
            octets: 0,
            other_octets: 0,
            tables: 0,
            foreign_octets: 0,
            held: 0,
            uplink,
        }
    }

    /// A connection's flow, by its direction from the core side to the radio side.
    pub fn flow(&self, connection: FlowKey) -> Option<&SnoopFlow<R>> {
        self.flows.peek(connection)
    }

    /// Reserves octets that another owner has taken from the same memory budget.
    pub const fn leave_room(&mut self, octets: usize) {
        self.other_octets = self.other_octets - self.foreign_octets + octets;
        self.foreign_octets = octets;
    }

    /// Updates the memory account for the tables.
    pub(super) fn charge_tables(&mut self) {
        let tables =
            self.flows.octets() + self.hops.octets() + self.uplink.as_ref().map_or(0, Uplink::octets);
        self.other_octets = self.other_octets - self.tables + tables;
        self.tables = tables;
    }

    /// Updates the memory account for the packets that wait for a hop.
    pub(super) fn charge_hop(&mut self, at: Option<Slot>) {
        if let Some(hop) = at.and_then(|at| self.hops.get_mut(at)) {
            hop.update_memory(&mut self.other_octets);
        }
    }

    /// Updates the memory account for a flow. Returns the remaining memory.
    pub(super) fn charge(&mut self, slot: Slot, budget: Budget) -> Option<Room> {
        Some(self.flows.get_mut(slot)?.charge(&mut self.octets, budget.beside(self.other_octets)))
    }

    /// The hop of a flow.
    pub(super) fn hop(&self, slot: Slot) -> Option<&LastHop> {
        self.hops.get(self.flows.get(slot)?.hop?)
    }

    /// The hop of a flow, mutable.
    pub(super) fn hop_mut(&mut self, slot: Slot) -> Option<&mut LastHop> {
        self.hops.get_mut(self.flows.get(slot)?.hop?)
    }

    /// Updates the octets in flight on a flow's hop.
    pub(super) fn count_in_flight(&mut self, slot: Slot, before: u64, after: u64) {
        if let Some(hop) = self.hop_mut(slot) {
            hop.change_in_flight(before, after);
        }
    }
}

impl<R: Recovery> Snoop<R> {
    /// Processes a packet of either direction for uploads.
    fn track_upload(&mut self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        if from == Side::Radio
            && !packet.payload().is_empty()
            && let Some(hop) = self.hops.find(key.destination.0).and_then(|at| self.hops.get_mut(at))
        {
            hop.record_data_back(packet.payload().len(), cx.now());
        }
        if let Some(uplink) = &mut self.uplink {
            uplink.leave_room(self.octets + self.other_octets - uplink.octets());
            uplink.on_packet(packet, key, from, cx);
            self.charge_tables();
        }
    }

    /// Forgets the state of an upload.
    fn forget_upload(&mut self, key: FlowKey) {
        if let Some(uplink) = &mut self.uplink {
            uplink.forget(key);
            self.charge_tables();
        }
    }
}

impl<R: Recovery> Agent for Snoop<R> {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else {
            if let Some(too_big) = PacketTooBig::from_message(packet).filter(|_| from == Side::Radio) {
                self.on_too_big(&too_big, cx);
            }
            return Verdict::Forward;
        };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            self.forget(key, cx);
            self.forget_upload(key);
            return Verdict::Forward;
        }
        self.track_upload(packet, key, from, cx);
        self.permit_upload(packet, key, from, cx);
        let known = match from {
            Side::Core => self.find_or_admit(packet, key, cx),
            Side::Radio => self.flows.find(key),
        };
        let Some(slot) = known else { return Verdict::Forward };
        let verdict = match from {
            Side::Core => self.on_core(packet, slot, cx),
            Side::Radio => self.on_radio(packet, slot, cx),
        };
        let is_charged = |flow: &SnoopFlow<R>| flow.charged() == flow.allocated();
        debug_assert!(self.flows.get(slot).is_none_or(is_charged), "memory is counted when it is taken");
        self.permit(slot, cx);
        verdict
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            self.forget(key, cx);
            self.forget_upload(key);
        } else {
            self.track_upload(packet, key, from, cx);
            self.on_bypassed(packet, key, from, cx);
        }
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        self.flows.prefetch(connections, SnoopFlow::prefetch);
        // Second, because the flow names its hop.
        for key in connections {
            let hop = self.flows.peek(*key).and_then(|flow| self.hops.get(flow.hop?));
            hop.inspect(|hop| hop.prefetch());
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let timer = self.flows.next_timer().map(|at| Deadline { at, reason: "local retransmission" });
        let idle = self.idle_deadline().map(|at| Deadline { at, reason: "idle connection" });
        Deadline::earliest(timer, idle)
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.flows.pop_timer(cx.now()).and_then(|key| self.flows.find(key)) {
            self.on_timer(slot, cx);
            self.charge(slot, cx.budget());
            self.permit(slot, cx);
        }
        while self.idle_deadline().is_some_and(|at| at <= cx.now())
            && let Some(key) = self.idlest()
        {
            self.forget(key, cx);
            self.forget_upload(key);
        }
    }
}

impl<R: Recovery> Accounts for Snoop<R> {
    fn held(&self) -> u64 {
        self.held
    }

    fn octets(&self) -> usize {
        self.octets + self.other_octets - self.foreign_octets
    }
}

impl<R: Recovery> Transfer for Snoop<R> {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        if let Some(uplink) = &mut self.uplink {
            uplink.forget_of(scope);
            self.charge_tables();
        }
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.resume_timers(cx.now());
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        let holds = |slot: &Slot| self.flows.get(*slot).is_some_and(|flow| !flow.waiting.is_empty());
        let holding: Vec<Slot> = self.flows.slots().filter(holds).collect();
        // All at once: otherwise each flush would search for its own flow among all.
        for slot in &holding {
            let at = self.flows.get(*slot).and_then(|flow| flow.hop);
            if let Some(hop) = at.and_then(|at| self.hops.get_mut(at)) {
                hop.turns.clear();
            }
            self.charge_hop(at);
        }
        for slot in holding {
            self.flush(slot, cx);
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.forget_upload(connection);
        self.forget(connection, cx);
    }
}
