//! Waiting that looks again and again whether the user has interrupted the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::Timespec;
use rustix::thread::nanosleep;

use lasthop_linux::clock::now;

/// The longest wait between two looks at the clock and at whether the user has interrupted the run.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Lets what is simulated, or starts earlier, go first.
pub(super) fn until(begin: Instant, stop: &AtomicBool) {
    while now() < begin && !stop.load(Ordering::Relaxed) {
        pause(begin.since(now()).min(LOOK));
    }
}

/// Waits for this time, or until a signal comes.
pub(super) fn pause(time: Duration) {
    // What is cut short is looked at again.
    let _ = nanosleep(&timespec(time));
}

/// A duration as the kernel takes it.
pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}
