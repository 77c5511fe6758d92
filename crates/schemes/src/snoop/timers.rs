//! The local timer of each flow: when it runs, and its expiry.

use lasthop_agent::{Context, Slot};
use lasthop_packet::Instant;

use super::agent::Snoop;
use super::effects::{TimerAction, TimerEffect};
use super::flow::{Receiver, Recovery};

impl<R: Recovery> Snoop<R> {
    /// Processes the expiry of a flow's timer.
    pub(super) fn on_timer(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        let (hop, was_in_flight) = (flow.hop, flow.in_flight());
        let effect = R::on_timer(flow, &self.settings, cx);
        let in_flight = flow.in_flight();
        self.count_in_flight(slot, was_in_flight, in_flight);
        let timer = match effect {
            TimerEffect::NotDue => {
                self.follow_timer(slot);
                return;
            }
            TimerEffect::WindowEnded => TimerAction::Follow,
            TimerEffect::Expired { has_given_up, timer } => {
                if timer == TimerAction::Restart {
                    self.restart_timer(slot, cx.now());
                }
                self.on_silence(slot, has_given_up, cx);
                timer
            }
        };
        self.send_held(hop, cx);
        if timer == TimerAction::Follow {
            self.follow_timer(slot);
        }
    }

    /// Processes a silence of the receiver. Whether its unacknowledged octets are still on the hop
    /// is unknown: they no longer take room of other flows.
    fn on_silence(&mut self, slot: Slot, has_given_up: bool, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let before = flow.in_flight();
        flow.receiver = match R::outstanding(flow) {
            _ if has_given_up => Receiver::GivenUp,
            0 => Receiver::Answers,
            overdue => Receiver::Silent { overdue },
        };
        let after = flow.in_flight();
        self.count_in_flight(slot, before, after);
        if has_given_up {
            self.give_up_held(slot, cx);
        } else {
            self.follow_line(slot);
        }
    }

    /// Restarts all timers after packets have bypassed the agent, perhaps with the ACKs that flows
    /// wait for. Packets sent before then give no round-trip time.
    pub(super) fn resume_timers(&mut self, now: Instant) {
        let slots: Vec<Slot> = self.flows.slots().collect();
        for slot in slots {
            let Some(flow) = self.flows.get_mut(slot) else { continue };
            flow.mark_times_ambiguous();
            self.restart_timer(slot, now);
        }
    }

    /// Restarts the timer of a flow, or clears it if it is not needed.
    pub(super) fn restart_timer(&mut self, slot: Slot, now: Instant) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.timing_since = now;
        if flow.needs_timer() {
            let due = flow.due(&self.settings);
            self.flows.set_timer_at(slot, due);
        } else {
            self.flows.clear_timer_at(slot);
        }
    }

    /// Lets the timer of a flow run if it is needed. A running timer that expires too early is not
    /// changed.
    pub(super) fn follow_timer(&mut self, slot: Slot) {
        let Some(flow) = self.flows.get(slot) else { return };
        if !flow.needs_timer() {
            self.flows.clear_timer_at(slot);
            return;
        }
        let running = self.flows.timer_at(slot);
        // Usually this is known without computing the time-out.
        if running.is_some_and(|running| running <= flow.due_at_the_earliest(&self.settings)) {
            return;
        }
        let due = flow.due(&self.settings);
        if running.is_none_or(|running| running > due) {
            self.flows.set_timer_at(slot, due);
        }
    }
}
