//! The times of a session, by the clock of the emulated model.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::Measured;

use super::wait;
use lasthop_linux::clock;

/// The times of a session. Except for `zero`, they are times of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timetable<'a> {
    /// The machine's time at the start of the model.
    pub(super) zero: Instant,
    /// The start of the session.
    pub(super) start: Instant,
    /// The time from which nothing new is started; at most the end of the run.
    pub(super) stop: Instant,
    /// The end of the run.
    pub(super) end: Instant,
    /// Set when the user interrupts the run.
    pub(super) interrupted: &'a AtomicBool,
}

impl Timetable<'_> {
    /// The current time of the model.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + clock::now().since(self.zero)
    }

    /// Waits for the start.
    pub(super) fn wait_for_start(&self) {
        wait::until(self.zero + self.start.since(Instant::ZERO), self.interrupted);
    }

    /// Whether the user has interrupted the run.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The time until the first of these times, or until the next check for an interruption.
    pub(super) fn until_first(&self, times: impl IntoIterator<Item = Instant>) -> Duration {
        let now = self.now();
        times.into_iter().map(|time| time.since(now)).fold(wait::CHECK_INTERVAL, Duration::min)
    }

    /// The time from its start to `end`.
    pub(super) const fn measured(&self, end: Instant) -> Measured {
        Measured { from: self.start, until: end }
    }
}
