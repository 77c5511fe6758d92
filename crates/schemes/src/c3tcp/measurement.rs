//! What one transmission over one hop measures (section 4.4.1, 4.4.2).

use std::time::Duration;

use lasthop_agent::FrameTimes;

use super::options::Forward;

/// `T_tr`: the data frame, its ACK, and the spaces behind them (4.3).
fn transmission_time(times: &FrameTimes) -> Duration {
    times.over.since(times.began)
}

/// The bandwidth that data of this many octets had, and its forward delay: from the moment when it
/// left the queue (4.1, 4.2).
pub(super) fn forward(octets: u32, times: &FrameTimes) -> Forward {
    let delay = times.began.since(times.departed) + transmission_time(times);
    let time = times.began.since(times.queued) + transmission_time(times);
    let nanos = time.as_nanos().max(1);
    let bandwidth = u128::from(octets) * 1_000_000_000 / nanos;
    // What has no data measures no bandwidth.
    let bandwidth = if octets == 0 { u32::MAX } else { u32::try_from(bandwidth).unwrap_or(u32::MAX).max(1) };
    Forward { bandwidth, delay: micros(delay) }
}

/// The backward delay, the wait in the queue among it (4.2), in microseconds.
pub(super) fn backward_delay(times: &FrameTimes) -> u32 {
    micros(times.began.since(times.queued) + transmission_time(times))
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
