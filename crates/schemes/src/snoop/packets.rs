//! Processing of packets from the core side and from the radio side.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Context, Report, Slot, Verdict};
use lasthop_hop::last_hop::Progress;
use lasthop_packet::{FlowKey, Packet, TcpFlags};

use super::agent::Snoop;
use super::effects::{AckEffect, TimerAction};
use super::flow::Recovery;

impl<R: Recovery> Snoop<R> {
    /// The flow of a packet from the core side; the first data creates it.
    pub(super) fn find_or_admit(
        &mut self,
        packet: &Packet,
        key: FlowKey,
        cx: &mut Context<'_>,
    ) -> Option<Slot> {
        let seq = packet.tcp()?.seq;
        let end = seq + packet.segment_len();
        if let Some(slot) = self.flows.find(key) {
            let flow = self.flows.get(slot)?;
            if seq == end || !flow.is_another(seq, end) {
                return Some(slot);
            }
            self.forget(key, cx);
        }
        if packet.payload().is_empty() { None } else { self.admit(key, seq, cx) }
    }

    /// Processes a packet from the core side and returns the verdict on it.
    pub(super) fn on_core(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let Some(flow) = self.flows.touch_at(slot, cx.now()) else { return Verdict::Forward };
        if flow.is_left_to_sender {
            let is_over = packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::FIN));
            if let Some(key) = self.flows.key(slot).filter(|_| is_over) {
                self.forget(key, cx);
            }
            return Verdict::Forward;
        }
        if packet.segment_len() == 0 {
            // It does not wait: it acknowledges data of the other direction.
            if let Some(tcp) = packet.tcp() {
                flow.record_timestamp(tcp);
            }
            return Verdict::Forward;
        }
        if R::is_resegmented(flow, packet) {
            self.forget_copies(slot, cx);
        }
        self.hold_or_pass(packet, slot, cx)
    }

    /// Caches data that is sent to the radio side.
    pub(super) fn on_transmit(&mut self, packet: &Packet, slot: Slot, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(flow) = self.flows.get_mut(slot).filter(|flow| !flow.is_left_to_sender) else { return };
        let room = flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        let was_in_flight = flow.in_flight();
        let effect = R::on_data(flow, packet, &self.settings, room, now);
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.change_in_flight(was_in_flight, flow.in_flight());
        }
        if let Some(bound) = effect.at_bound {
            cx.report(Report::new(&AT_BOUND).which(bound));
        }
        if effect.restart_timer || self.flows.timer_at(slot).is_none() {
            self.restart_timer(slot, now);
        }
    }

    /// Processes a packet from the radio side, by the acknowledgment in it, and returns the verdict
    /// on it.
    pub(super) fn on_radio(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let Some(flow) = self.flows.touch_at(slot, cx.now()).filter(|flow| !flow.is_left_to_sender) else {
            return Verdict::Forward;
        };
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        let was_in_flight = flow.in_flight();
        let AckEffect { verdict, timer, progress } = R::on_ack(flow, packet, &self.settings, cx);
        match timer {
            TimerAction::Restart => self.restart_timer(slot, cx.now()),
            TimerAction::Start if self.flows.timer_at(slot).is_none() => self.restart_timer(slot, cx.now()),
            TimerAction::Start | TimerAction::Follow | TimerAction::Keep => {}
        }
        if let Some(progress) = progress {
            self.apply_progress(slot, was_in_flight, progress, timer, cx);
        }
        verdict
    }

    /// Applies what an ACK shows about the hop.
    fn apply_progress(
        &mut self,
        slot: Slot,
        was_in_flight: u64,
        progress: Progress,
        timer: TimerAction,
        cx: &mut Context<'_>,
    ) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        let (in_flight, is_finished) = (flow.in_flight(), flow.is_finished());
        let hop = flow.hop;
        if let Some((host, hop)) = hop.and_then(|at| self.hops.key(at).zip(self.hops.get_mut(at))) {
            hop.change_in_flight(was_in_flight, in_flight);
            flow.pace.on_progress(&progress, hop, cx.now());
            hop.on_progress(progress, host, cx.now(), &self.targets);
            self.loss_free_run.on_progress(&progress, hop.segment());
        }
        if progress.lost > 0 {
            self.leave_to_sender(slot, was_in_flight, cx);
        }
        match self.flows.key(slot) {
            Some(key) if is_finished => self.forget(key, cx),
            _ if timer == TimerAction::Follow => self.follow_timer(slot),
            _ => {}
        }
        self.follow_line(slot);
        self.send_reserved(slot, cx);
        self.send_held(hop, cx);
    }
}
