//! The local timer of each flow: when it runs, and what is done when it expires.

use lasthop_agent::counter::LOCAL_RETRANSMITS;
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side, Slot};
use lasthop_packet::Instant;

use super::Snoop;
use super::flow::Receiver;

impl Snoop {
    /// The timer of a flow expired.
    pub(super) fn on_timer(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        let hop = flow.hop;
        if flow.board.is_none() {
            let has_given_up = !self.repair(slot, Cause::Timer, cx);
            self.on_silence(slot, has_given_up, cx);
            self.send_held(hop, cx);
            return;
        }
        // Timers are lazy: progress only moves what they wait for.
        if flow.due(&self.settings) > now {
            self.follow_timer(slot);
            return;
        }
        if flow.doubt_ends().is_some_and(|at| at <= now) {
            self.on_doubt_ended(slot, cx);
            return;
        }
        let was_in_flight = flow.in_flight();
        let copies = flow.probe(&self.settings, now);
        let has_given_up = flow.expiries > self.settings.local_retransmissions;
        let in_flight = flow.in_flight();
        self.count_in_flight(slot, was_in_flight, in_flight);
        for copy in copies.into_iter().flatten() {
            if let Some(tcp) = copy.tcp() {
                cx.report(Report::of(&LOCAL_RETRANSMITS).at(tcp.seq).which(Cause::Timer.name()));
            }
            cx.send(Side::Radio, copy);
        }
        self.on_silence(slot, has_given_up, cx);
        self.send_held(hop, cx);
        if !has_given_up {
            self.follow_timer(slot);
        }
    }

    /// The receiver of a flow is silent. Whether the octets that it does not acknowledge are still on the hop
    /// is unknown: they take no room of other flows any more.
    fn on_silence(&mut self, slot: Slot, has_given_up: bool, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let before = flow.in_flight();
        flow.receiver = match flow.outstanding() {
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

    /// What few segments have overtaken had its time to come, and has not.
    fn on_doubt_ended(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let was_in_flight = flow.in_flight();
        flow.end_doubt(cx.now());
        Self::repair_losses(&self.settings, flow, Cause::Timer, cx);
        let (in_flight, hop) = (flow.in_flight(), flow.hop);
        self.count_in_flight(slot, was_in_flight, in_flight);
        self.send_held(hop, cx);
        self.follow_timer(slot);
    }

    /// Packets have bypassed the agent, perhaps with the ACKs that flows wait for. Their timers start anew, and
    /// no packet that left before measures a round-trip time.
    pub(super) fn resume_timers(&mut self, now: Instant) {
        let slots: Vec<Slot> = self.flows.slots().collect();
        for slot in slots {
            let Some(flow) = self.flows.get_mut(slot) else { continue };
            flow.doubt_times();
            self.restart_timer(slot, now);
        }
    }

    /// Starts the timer of a flow anew, or clears it if there is nothing to wait for.
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

    /// Has the timer of a flow run if there is something to wait for. One that runs and is due too
    /// early is left alone.
    pub(super) fn follow_timer(&mut self, slot: Slot) {
        let Some(flow) = self.flows.get(slot) else { return };
        if !flow.needs_timer() {
            self.flows.clear_timer_at(slot);
            return;
        }
        let running = self.flows.timer_at(slot);
        // Mostly that is known without working out the time-out.
        if running.is_some_and(|running| running <= flow.due_at_the_earliest(&self.settings)) {
            return;
        }
        let due = flow.due(&self.settings);
        if running.is_none_or(|running| running > due) {
            self.flows.set_timer_at(slot, due);
        }
    }
}
