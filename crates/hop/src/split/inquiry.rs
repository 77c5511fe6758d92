//! Whether the ends of a pair that has been idle for long are still there.

use std::time::Duration;

use lasthop_agent::{Context, Counter, Report, Side};
use lasthop_packet::Instant;

use super::liveness::Inquiry;
use super::pair::Pair;

/// Questions in vain until an end is taken to be gone, and the time between them (Linux
/// `tcp_keepalive_probes`, `tcp_keepalive_intvl`).
const MOST_UNANSWERED: u8 = 9;
const ASKED_EVERY: Duration = Duration::from_secs(75);

/// A connection has been idle for long, and an end of it no longer answers.
pub static ENDS_GONE: Counter = Counter::new(
    "ends_gone",
    "Idle connections that were reset because an end did not answer keepalives any more.",
);

impl Pair {
    /// It has been idle for long.
    pub(super) fn begin_inquiry(&mut self, now: Instant) {
        self.inquiry.due.get_or_insert(now);
    }

    /// Asks both ends whether they are there, if it is time to. Where one has not answered for long,
    /// both legs end, each with a reset.
    pub(super) fn inquire(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.inquiry.due.is_none_or(|due| due > now) {
            return;
        }
        if self.inquiry.unanswered.iter().any(|asked| *asked >= MOST_UNANSWERED) {
            self.abort();
            cx.report(Report::of(&ENDS_GONE));
            return;
        }
        for side in [Side::Core, Side::Radio] {
            if let Some(question) = self.leg_mut(side).keep_alive(now) {
                self.inquiry.unanswered[side as usize] += 1;
                cx.send(side, question);
            }
        }
        // A leg that has ended is not asked.
        let is_open = self.inquiry.unanswered != [0; 2];
        self.inquiry.due = is_open.then(|| now + ASKED_EVERY);
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
