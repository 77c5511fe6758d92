//! The only module that reads a clock.

use std::time::Duration;

use lasthop_packet::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The time of the kernel's monotonic clock: nanoseconds since some point in the past. It is the
/// clock of `bpf_ktime_get_ns`. It does not jump when the time of day is set, and it stops while
/// the machine is suspended.
pub fn now() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The time of day, since 1970: only for comparisons with other times of day from the kernel.
pub fn time_of_day() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
