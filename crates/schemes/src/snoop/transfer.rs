//! A connection's state as a value: its cache, its waiting packets, and the estimates of the hop.
//!
//! Selective acknowledgments are left out: the receiver repeats them. So are the state of the
//! timer, and the signals to the sender: the importing agent may repair a segment a second time, or
//! slow the sender down a second time.

use lasthop_agent::{Context, FlowState, ImportError, Scope, Side, Slot};
use lasthop_hop::last_hop::{HopEstimate, LastHop};
use lasthop_hop::transfer::{Away, export, import, segment, simulated};
use lasthop_packet::{FlowKey, Packet, PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::agent::Snoop;
use super::flow::{Notes, Recovery, SnoopFlow};
use super::rtt::HopRtt;
use super::saved::SavedRecovery;
use super::segmentation::is_repairable;
use super::settings::{NAME, Settings};

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 2;

/// The exported state of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    last_ack: Option<Seq>,
    window: u16,
    highest: Seq,
    fin: Option<Seq>,
    highest_tsval: Option<Seq>,
    recovery: SavedRecovery,
    rtt: HopRtt,
    hop: Option<HopEstimate>,
    cached: Vec<SavedSegment>,
    held: Vec<PacketRecord>,
}

/// A cached segment, with its notes.
#[derive(Debug, Serialize, Deserialize)]
struct SavedSegment {
    packet: PacketRecord,
    sent: Away,
    local: u32,
    by_sender: bool,
    ambiguous: bool,
}

impl<R: Recovery> Snoop<R> {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let keys = scope.connections(&self.flows);
        let states: Vec<FlowState> = keys.iter().filter_map(|key| self.save_flow(*key, cx)).collect();
        // Second: each forgotten flow makes room, which the waiting packets of another would take.
        for state in &states {
            self.forget(state.connection, cx);
        }
        states
    }

    /// Saves a flow, and removes its waiting packets.
    fn save_flow(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<FlowState> {
        let slot = self.flows.find(key)?;
        let hop = self.hop(slot).map(LastHop::estimate);
        let flow = self.flows.get(slot)?;
        let cached = flow.cache.iter().map(|cached| &cached.packet);
        let simulated = simulated(cached.chain(flow.waiting.packets().iter()));
        let state = FlowState { simulated, ..export(NAME, VERSION, key, &flow.save(hop, cx))? };
        let held = self.flows.get_mut(slot).map_or(0, |flow| flow.waiting.clear());
        self.held -= held as u64;
        Some(state)
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedFlow = import(state, NAME, VERSION, cx)?;
        let (cached, held) = saved.packets(key, cx)?;
        if self.flows.peek(key).is_some() {
            return Err(ImportError::Known);
        }
        let Some(slot) = self.admit(key, saved.highest, cx) else {
            return Err(ImportError::NoRoom("connections"));
        };
        if let (Some(hop), Some(estimate)) = (self.hop_mut(slot), saved.hop)
            && hop.flows() == 1
        {
            hop.resume_from(estimate, cx.now());
        }
        let room = self.charge(slot, cx.budget());
        if let (Some(flow), Some(room)) = (self.flows.get_mut(slot), room) {
            flow.restore(&saved);
            let mut left = room.of_flow.min(room.in_all);
            for (packet, notes) in cached {
                left = flow.restore_segment(&packet, notes, left, &self.settings);
            }
            let in_flight = flow.in_flight();
            self.count_in_flight(slot, 0, in_flight);
        }
        self.charge(slot, cx.budget());
        for packet in held {
            self.hold_again(packet, slot, cx);
        }
        self.restart_timer(slot, cx.now());
        self.send_held(self.flows.get(slot).and_then(|flow| flow.hop), cx);
        Ok(())
    }

    /// Queues a packet that another agent held; if there is no room, it is sent at once.
    fn hold_again(&mut self, packet: Packet, slot: Slot, cx: &mut Context<'_>) {
        let room = self.charge(slot, cx.budget());
        let sizes = packet.sizes();
        let can_wait = self.hop(slot).is_some()
            && packet.tcp().is_some_and(is_repairable)
            && self.flows.get(slot).is_some_and(|flow| {
                let waiting = flow.waiting.packets();
                waiting.octets() + sizes.octets <= self.settings.held_octets
                    && room.is_some_and(|room| room.lacks(waiting.cost_of(sizes)).is_none())
            });
        if !can_wait {
            self.flush(slot, cx);
            self.on_transmit(&packet, slot, cx);
            cx.send(Side::Radio, packet);
            return;
        }
        let Some(flow) = self.flows.get_mut(slot) else { return };
        if let Some(tcp) = packet.tcp() {
            flow.arrived = flow.arrived.later(tcp.seq + packet.segment_len());
        }
        flow.waiting.push(packet, sizes);
        self.held += 1;
        self.follow_line(slot);
        self.charge(slot, cx.budget());
    }
}

impl SavedFlow {
    /// The saved packets, if they are consistent with one connection.
    #[expect(clippy::type_complexity, reason = "the two kinds, each in order")]
    fn packets(
        &self,
        key: FlowKey,
        cx: &Context<'_>,
    ) -> Result<(Vec<(Packet, Notes)>, Vec<Packet>), ImportError> {
        let is_near = |seq: Seq| !seq.is_out_of_reach(self.highest);
        let far = Err(ImportError::Malformed("its numbers are too far apart"));
        if self.last_ack.is_some_and(|ack| !is_near(ack)) || self.fin.is_some_and(|fin| !is_near(fin)) {
            return far;
        }
        let mut cached: Vec<(Packet, Notes)> = Vec::with_capacity(self.cached.len());
        let mut last = None;
        for saved in &self.cached {
            let packet = segment(saved.packet.clone(), key, cx)?;
            let seq = packet.tcp().map_or(self.highest, |tcp| tcp.seq);
            let end = seq + packet.segment_len();
            if !is_near(seq) || end.after(self.highest) {
                return far;
            }
            if last.is_some_and(|before: Seq| !seq.after(before)) {
                return Err(ImportError::Malformed("its packets are not in order"));
            }
            last = Some(seq);
            let notes = Notes {
                sent: saved.sent.to(cx.now()).min(cx.now()),
                local: saved.local,
                by_sender: saved.by_sender,
                ambiguous: saved.ambiguous,
            };
            cached.push((packet, notes));
        }
        let held: Result<Vec<Packet>, ImportError> =
            self.held.iter().map(|record| segment(record.clone(), key, cx)).collect();
        let held = held?;
        let is_far = |packet: &Packet| packet.tcp().is_none_or(|tcp| !is_near(tcp.seq));
        if held.iter().any(is_far) {
            return far;
        }
        Ok((cached, held))
    }
}

impl<R: Recovery> SnoopFlow<R> {
    fn save(&self, hop: Option<HopEstimate>, cx: &Context<'_>) -> SavedFlow {
        let cached = self.cache.iter().map(|cached| {
            let Notes { sent, local, by_sender, ambiguous } = cached.notes;
            let last = self.recovery.departure(cached.seq);
            let (sent, again) = last.unwrap_or((sent, ambiguous));
            SavedSegment {
                packet: PacketRecord::from(&cached.packet),
                sent: Away::from(sent, cx.now()),
                local,
                by_sender,
                ambiguous: ambiguous || again,
            }
        });
        SavedFlow {
            last_ack: self.last_ack,
            window: self.window,
            highest: self.highest,
            fin: self.fin,
            highest_tsval: self.highest_tsval,
            recovery: R::save(self),
            rtt: self.rtt,
            hop,
            cached: cached.collect(),
            held: self.waiting.packets().iter().map(PacketRecord::from).collect(),
        }
    }

    fn restore(&mut self, saved: &SavedFlow) {
        (self.last_ack, self.window) = (saved.last_ack, saved.window);
        (self.highest, self.arrived) = (saved.highest, saved.highest);
        (self.fin, self.highest_tsval) = (saved.fin, saved.highest_tsval);
        self.recovery.restore(&saved.recovery);
        self.rtt = saved.rtt.bounded();
    }

    /// Caches an imported segment, if the `left` octets of memory suffice. Returns the remaining
    /// octets.
    fn restore_segment(&mut self, packet: &Packet, notes: Notes, left: usize, settings: &Settings) -> usize {
        let sizes = packet.sizes();
        let cost = self.cache.cost_of(sizes) + self.recovery.cost_of_one();
        let fits = cost <= left && self.octets().saturating_add(sizes.octets) <= settings.cached_octets;
        if !fits || !self.cache.insert(packet, sizes, notes) {
            return left;
        }
        self.recovery.on_restored(packet, &notes);
        left - cost
    }
}
