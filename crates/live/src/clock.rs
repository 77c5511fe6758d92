//! The one place that reads a clock.

use lasthop_packet::Instant;
use rustix::time::{ClockId, clock_gettime};

/// Now, on the kernel's monotonic clock: nanoseconds since some point in the past. It is the clock
/// of `bpf_ktime_get_ns`, it does not jump when the time of day is set, and it stands still
/// in suspend.
pub fn now() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}
