//! The local timer of each flow: when it runs, and what is done when it expires.

use lasthop_agent::counter::LOCAL_RETRANSMITS;
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side};
use lasthop_packet::{FlowKey, Instant};

use super::Snoop;

impl Snoop {
    /// The timer of a flow expired.
    pub(super) fn on_timer(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let now = cx.now();
        self.charge(key, cx.budget());
        let Some(flow) = self.flows.peek_mut(key) else { return };
        if flow.board.is_none() {
            if !self.repair(key, Cause::Timer, cx) {
                self.set_stalled(key);
                self.flush(key, cx);
            }
            self.send_held(key.destination.0, cx);
            return;
        }
        // Timers are lazy: progress only moves what they wait for.
        if flow.due(&self.settings) > now {
            self.follow_timer(key);
            return;
        }
        if flow.doubt_ends().is_some_and(|at| at <= now) {
            self.on_doubt_ended(key, cx);
            return;
        }
        let was_in_flight = flow.in_flight();
        let silent_since = flow.timing_since;
        let copies = flow.probe(&self.settings, now);
        let has_given_up = flow.expiries > self.settings.local_retransmissions;
        let delivers_to_others =
            self.hops.get(&key.destination.0).is_some_and(|hop| hop.delivered_at > silent_since);
        flow.is_stalled |= has_given_up || (flow.expiries >= 2 && delivers_to_others);
        let in_flight = flow.in_flight();
        self.count_in_flight(key, was_in_flight, in_flight);
        for copy in copies.into_iter().flatten() {
            if let Some(tcp) = copy.tcp() {
                cx.report(Report::of(&LOCAL_RETRANSMITS).at(tcp.seq).which(Cause::Timer.name()));
            }
            cx.send(Side::Radio, copy);
        }
        if has_given_up {
            self.flush(key, cx);
        } else {
            self.send_held(key.destination.0, cx);
            self.follow_timer(key);
        }
    }

    /// What few segments have overtaken had its time to come, and has not.
    fn on_doubt_ended(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.peek_mut(key) else { return };
        let was_in_flight = flow.in_flight();
        flow.end_doubt(cx.now());
        Self::repair_losses(&self.settings, flow, Cause::Timer, cx);
        let in_flight = flow.in_flight();
        self.count_in_flight(key, was_in_flight, in_flight);
        self.send_held(key.destination.0, cx);
        self.follow_timer(key);
    }

    /// Takes what a flow has on the hop for gone.
    fn set_stalled(&mut self, key: FlowKey) {
        let Some(flow) = self.flows.peek_mut(key) else { return };
        let before = flow.in_flight();
        flow.is_stalled = true;
        self.count_in_flight(key, before, 0);
    }

    /// Starts the timer of a flow anew, or clears it if there is nothing to wait for.
    pub(super) fn restart_timer(&mut self, key: FlowKey, now: Instant) {
        let Some(flow) = self.flows.peek_mut(key) else { return };
        flow.timing_since = now;
        if flow.needs_timer() {
            let due = flow.due(&self.settings);
            self.flows.set_timer(key, due);
        } else {
            self.flows.clear_timer(key);
        }
    }

    /// Has the timer of a flow run if there is something to wait for. One that runs and is due too
    /// early is left alone.
    pub(super) fn follow_timer(&mut self, key: FlowKey) {
        let Some(flow) = self.flows.peek(key) else { return };
        if !flow.needs_timer() {
            self.flows.clear_timer(key);
            return;
        }
        let due = flow.due(&self.settings);
        if self.flows.timer(key).is_none_or(|running| running > due) {
            self.flows.set_timer(key, due);
        }
    }
}
