//! Pacing as in Linux 6.18 (`tcp_pacing_check`, `tcp_update_skb_after_send`): a burst is sent at once, and
//! the next one when the rate allows it.

use std::time::Duration;

use lasthop_packet::Instant;

/// Number of segments that are not paced at the beginning of the connection.
const UNPACED: u32 = 10;

/// When the next segment is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// The earliest time for the next burst.
    next: Instant,
    /// The time of the current burst, its remaining segments, and its lateness.
    began: Option<Instant>,
    left: u32,
    credit: Duration,
    /// Segments sent so far, up to [`UNPACED`].
    sent: u32,
    /// The time that a segment waits for.
    timer: Option<Instant>,
}

impl Pacer {
    pub(super) const fn next_departure(&self) -> Instant {
        self.next
    }

    /// When a waiting segment may be sent.
    pub(super) const fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Sets whether a segment waits for the next departure.
    pub(super) fn set_timer(&mut self, waits: bool) {
        self.timer = waits.then_some(self.next);
    }

    /// Stops the timer if it has expired.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.timer = self.timer.filter(|at| *at > now);
    }

    /// Whether a segment has to wait. If not, and there is no current burst, one of `segments()` begins.
    pub(super) fn holds(&mut self, now: Instant, segments: impl FnOnce() -> u32) -> bool {
        if self.began == Some(now) && self.left > 0 {
            return false;
        }
        if self.next > now {
            return true;
        }
        self.credit = now.since(self.next);
        (self.began, self.left) = (Some(now), segments());
        false
    }

    /// A segment is sent; `rate` is in octets per second.
    pub(super) fn on_sent(&mut self, octets: u32, now: Instant, rate: u64) {
        self.next = self.next.max(now);
        self.left = self.left.saturating_sub(1);
        self.sent = (self.sent + 1).min(UNPACED);
        if self.sent < UNPACED {
            self.credit = Duration::ZERO;
            return;
        }
        let takes = Duration::from_nanos(u64::from(octets) * 1_000_000_000 / rate.max(1));
        // The lateness of the last burst is made up for, by at most half of the time of this one.
        let made_up = self.credit.min(takes / 2);
        self.credit -= made_up;
        self.next += takes.saturating_sub(made_up);
    }
}

#[cfg(test)]
mod tests;
