//! Whether the ends of a pair that has been idle for long are still there.

use std::time::Duration;

use lasthop_agent::{Context, Counter, Report, Side};
use lasthop_packet::Instant;
use lasthop_tcp::Connection;

/// Questions in vain until an end is taken to be gone, and the time between them (Linux
/// `tcp_keepalive_probes`, `tcp_keepalive_intvl`).
const MOST_UNANSWERED: u8 = 9;
const ASKED_EVERY: Duration = Duration::from_secs(75);

/// A connection has been idle for long, and an end of it no longer answers.
pub static ENDS_GONE: Counter = Counter::new(
    "ends_gone",
    "Idle connections that were reset because an end did not answer keepalives any more.",
);

/// Questions to both ends.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    /// When the next ones are due; `None` while there is no doubt.
    due: Option<Instant>,
    /// How often each end, on the core side and the radio side, was asked in vain.
    unanswered: [u8; 2],
}

impl Inquiry {
    /// When the next questions are due; `None` while there is no doubt.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The connection has been idle for long.
    pub(super) fn begin(&mut self, now: Instant) {
        self.due.get_or_insert(now);
    }

    /// An end has been heard from.
    pub(super) fn on_heard(&mut self, from: Side) {
        self.unanswered[from as usize] = 0;
        if self.unanswered == [0; 2] {
            self.due = None;
        }
    }

    /// Asks both ends whether they are there, if it is time to. Whether one has not answered for long.
    pub(super) fn ask(&mut self, legs: [&mut Connection; 2], cx: &mut Context<'_>) -> bool {
        let now = cx.now();
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        if self.unanswered.iter().any(|asked| *asked >= MOST_UNANSWERED) {
            cx.report(Report::of(&ENDS_GONE));
            return true;
        }
        for (side, leg) in [Side::Core, Side::Radio].into_iter().zip(legs) {
            if let Some(question) = leg.keep_alive(now) {
                self.unanswered[side as usize] += 1;
                cx.send(side, question);
            }
        }
        // A leg that has ended is not asked.
        self.due = (self.unanswered != [0; 2]).then(|| now + ASKED_EVERY);
        false
    }
}
