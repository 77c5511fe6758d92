//! When a session runs, by the clock of the model between its hosts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::Measured;

use super::wait;
use lasthop_linux::clock;

/// When a session runs. But for `zero`, times are those of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timetable<'a> {
    /// The machine's time when the model's began.
    pub(super) zero: Instant,
    /// When the session starts.
    pub(super) start: Instant,
    /// When it stops: nothing new is begun from then on. At the end of the run at the latest.
    pub(super) stop: Instant,
    /// When the run ends.
    pub(super) end: Instant,
    /// Set when the user wants it to end early.
    pub(super) interrupted: &'a AtomicBool,
}

impl Timetable<'_> {
    /// The model's time.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + clock::now().since(self.zero)
    }

    /// Waits for the start.
    pub(super) fn wait_for_start(&self) {
        wait::until(self.zero + self.start.since(Instant::ZERO), self.interrupted);
    }

    /// Whether the user wants it to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How long to wait for the first of some times, or for the next look at what the user wants.
    pub(super) fn until_first(&self, times: impl IntoIterator<Item = Instant>) -> Duration {
        let now = self.now();
        times.into_iter().map(|time| time.since(now)).fold(wait::LOOK, Duration::min)
    }

    /// The time from its start to `end`.
    pub(super) const fn measured(&self, end: Instant) -> Measured {
        Measured { from: self.start, until: end }
    }
}
