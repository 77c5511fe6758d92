//! Waiting with regular checks whether the user has interrupted the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::Timespec;
use rustix::thread::nanosleep;

use lasthop_linux::clock::now;

/// The longest time between two checks of the clock and of whether the user has interrupted the
/// run.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until a time, or until the user interrupts the run.
pub(super) fn until(begin: Instant, stop: &AtomicBool) {
    while now() < begin && !stop.load(Ordering::Relaxed) {
        pause(begin.since(now()).min(CHECK_INTERVAL));
    }
}

/// Waits for this time, or until a signal arrives.
pub(super) fn pause(time: Duration) {
    // Callers check the clock again after an early return.
    let _ = nanosleep(&timespec(time));
}

/// A duration in the form of the kernel.
pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}
