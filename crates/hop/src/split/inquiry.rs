//! Keepalives to the ends of a pair that has been idle for a long time.

use std::time::Duration;

use lasthop_agent::{Context, Counter, Report, Side};
use lasthop_packet::Instant;
use lasthop_tcp::Connection;

/// Unanswered probes after which an end counts as gone, and the time between probes (Linux
/// `tcp_keepalive_probes`, `tcp_keepalive_intvl`).
const MAX_UNANSWERED: u8 = 9;
const PROBE_INTERVAL: Duration = Duration::from_secs(75);

/// A connection has been idle for a long time, and an end of it no longer answers.
pub static ENDS_GONE: Counter = Counter::new(
    "ends_gone",
    "Idle connections that were reset because an end did not answer keepalives any more.",
);

/// The keepalive probes to both ends.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    /// When the next probes are due; `None` while the ends are not probed.
    due: Option<Instant>,
    /// Unanswered probes to each end, on the core side and the radio side.
    unanswered: [u8; 2],
}

impl Inquiry {
    /// When the next probes are due; `None` while the ends are not probed.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Starts probing a connection that has been idle for a long time.
    pub(super) fn begin(&mut self, now: Instant) {
        self.due.get_or_insert(now);
    }

    /// Records a packet from an end.
    pub(super) fn on_packet(&mut self, from: Side) {
        self.unanswered[from as usize] = 0;
        if self.unanswered == [0; 2] {
            self.due = None;
        }
    }

    /// Sends probes to both ends if they are due. Returns whether an end counts as gone.
    pub(super) fn probe(&mut self, legs: [&mut Connection; 2], cx: &mut Context<'_>) -> bool {
        let now = cx.now();
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        if self.unanswered.iter().any(|unanswered| *unanswered >= MAX_UNANSWERED) {
            cx.report(Report::new(&ENDS_GONE));
            return true;
        }
        for (side, leg) in [Side::Core, Side::Radio].into_iter().zip(legs) {
            if let Some(probe) = leg.keep_alive(now) {
                self.unanswered[side as usize] += 1;
                cx.send(side, probe);
            }
        }
        // A leg that has ended sends no probe.
        self.due = (self.unanswered != [0; 2]).then(|| now + PROBE_INTERVAL);
        false
    }
}
