//! What a packet from the radio side brings about: accounts, the timer, and packets that there is room for now.

use lasthop_agent::{Context, Slot, Verdict};
use lasthop_hop::last_hop::Progress;
use lasthop_packet::Packet;

use super::agent::Snoop;
use super::effects::{AckEffect, TimerAction};
use super::flow::Recovery;

impl<R: Recovery> Snoop<R> {
    /// Decides what becomes of a packet from the radio side, by the acknowledgment in it.
    pub(super) fn on_radio(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let Some(flow) = self.flows.touch_at(slot, cx.now()).filter(|flow| !flow.is_left_to_sender) else {
            return Verdict::Forward;
        };
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        let was_in_flight = flow.in_flight();
        let AckEffect { verdict, timer, progress } = R::on_ack(flow, packet, &self.settings, cx);
        match timer {
            TimerAction::Restart => self.restart_timer(slot, cx.now()),
            TimerAction::Start if self.flows.timer_at(slot).is_none() => self.restart_timer(slot, cx.now()),
            TimerAction::Start | TimerAction::Follow | TimerAction::Keep => {}
        }
        if let Some(progress) = progress {
            self.settle(slot, was_in_flight, progress, timer, cx);
        }
        verdict
    }

    /// What follows from what an ACK shows of the hop.
    fn settle(
        &mut self,
        slot: Slot,
        was_in_flight: u64,
        progress: Progress,
        timer: TimerAction,
        cx: &mut Context<'_>,
    ) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        let (in_flight, is_finished) = (flow.in_flight(), flow.is_finished());
        let hop = flow.hop;
        if let Some((host, hop)) = hop.and_then(|at| self.hops.key(at).zip(self.hops.get_mut(at))) {
            hop.recount(was_in_flight, in_flight);
            flow.pace.on_progress(&progress, hop, cx.now());
            hop.on_progress(progress, host, cx.now(), &self.aims);
            self.trust.on_progress(&progress, hop.segment());
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
