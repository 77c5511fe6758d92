//! When the next segment may leave, as Linux 6.18 has it (`tcp_pacing_check`,
//! `tcp_update_skb_after_send`): a burst leaves at once, and the next one when the rate allows it.

use std::time::Duration;

use lasthop_packet::Instant;

/// So many segments leave unpaced when the connection begins.
const UNPACED: u32 = 10;

/// When the next segment leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// The earliest time for the next burst.
    next: Instant,
    /// When the current burst left, how many more segments it may have, and by how much it was
    /// late.
    began: Option<Instant>,
    left: u32,
    credit: Duration,
    /// Segments sent so far, up to [`UNPACED`].
    sent: u32,
    /// A segment waits until then.
    timer: Option<Instant>,
}

impl Pacer {
    pub(super) const fn next_departure(&self) -> Instant {
        self.next
    }

    /// When a segment that waits may leave.
    pub(super) const fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// A segment waits for the next departure, or none does.
    pub(super) fn set_timer(&mut self, waits: bool) {
        self.timer = waits.then_some(self.next);
    }

    /// Its time has come, if `now` is not before it.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.timer = self.timer.filter(|at| *at > now);
    }

    /// Whether a segment has to wait; if it has not, and no burst is leaving, one of `segments()`
    /// begins.
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

    /// A segment leaves; `rate` is in octets a second.
    pub(super) fn on_sent(&mut self, octets: u32, now: Instant, rate: u64) {
        self.next = self.next.max(now);
        self.left = self.left.saturating_sub(1);
        self.sent = (self.sent + 1).min(UNPACED);
        if self.sent < UNPACED {
            self.credit = Duration::ZERO;
            return;
        }
        let takes = Duration::from_nanos(u64::from(octets) * 1_000_000_000 / rate.max(1));
        // Time lost since the last burst is made up for, by half of what this one takes.
        let made_up = self.credit.min(takes / 2);
        self.credit -= made_up;
        self.next += takes.saturating_sub(made_up);
    }
}

#[cfg(test)]
mod tests;
