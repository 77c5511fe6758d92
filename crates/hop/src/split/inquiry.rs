//! Whether the ends of a pair that has been idle for long are still there.

use lasthop_agent::{Context, Counter, Report, Side};

use super::liveness::Inquiry;
use super::pair::Pair;

/// A connection has been idle for long, and an end of it no longer answers.
pub static ENDS_GONE: Counter = Counter::new(
    "ends_gone",
    "Idle connections that were reset because an end did not answer keepalives any more.",
);

impl Pair {
    /// Asks both ends whether they are there, if it is time to. Where one has not answered for long,
    /// both legs end, each with a reset.
    pub(super) fn inquire(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.inquiry.due().is_none_or(|due| due > now) {
            return;
        }
        if self.inquiry.is_in_vain() {
            self.abort();
            cx.report(Report::of(&ENDS_GONE));
            return;
        }
        for side in [Side::Core, Side::Radio] {
            if let Some(question) = self.leg_mut(side).keep_alive(now) {
                self.inquiry.on_asked(side);
                cx.send(side, question);
            }
        }
        // A leg that has ended is not asked.
        self.inquiry.go_round(now);
    }

    /// Ends both legs, each with a reset.
    pub(super) fn abort(&mut self) {
        self.core.abort();
        self.radio.abort();
        self.inquiry = Inquiry::default();
    }

    /// The same, and sends the resets.
    pub fn reset_both(&mut self, cx: &mut Context<'_>) {
        self.abort();
        for side in [Side::Core, Side::Radio] {
            if let Some(reset) = self.leg_mut(side).poll_transmit(cx.now()) {
                cx.send(side, reset);
            }
        }
    }
}
