//! What one transmission over one hop measures (section 4.4.1, 4.4.2).

use lasthop_agent::FrameTimes;
use lasthop_agent::path::micros;

use super::options::Forward;

/// The bandwidth that data of this many octets had, and its forward delay: from the moment when it
/// left the queue (4.1, 4.2).
pub(super) fn forward(octets: u32, times: &FrameTimes) -> Forward {
    Forward::of_hop(octets, times)
}

/// The backward delay, the wait in the queue among it (4.2), in microseconds.
pub(super) fn backward_delay(times: &FrameTimes) -> u32 {
    micros(times.since_queued())
}
