//! The excess of a packet's transit time over the minimum, by its timestamp.
//!
//! The transit time is the time up to here, plus the wait on the hop ahead.

use std::time::Duration;

use lasthop_hop::windowed_min::WindowedMin;
use lasthop_packet::Instant;

/// The minimum transit time counts for this time, up to twice as long: clocks drift apart, and
/// paths change.
const WINDOW: Duration = Duration::from_secs(10);

/// Recent transit times in microseconds. They are differences between two clocks: only differences
/// among them are meaningful.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transit {
    recent: WindowedMin<i64>,
    last: i64,
}

impl Transit {
    /// The state after the first packet, with this timestamp by a clock of `rate` hertz.
    pub(super) fn new(ticks: u64, rate: u32, now: Instant) -> Self {
        let mut first = Self { recent: WindowedMin::new(), last: transit(ticks, rate, now) };
        first.start_over(now);
        first
    }

    /// The excess of an overtaken packet's transit time; it does not update the minimum.
    pub(super) fn of_overtaken(&self, ticks: u64, rate: u32, now: Instant) -> Duration {
        let longer = transit(ticks, rate, now).saturating_sub(self.recent.min().unwrap_or(self.last));
        Duration::from_micros(longer.max(0).unsigned_abs())
    }

    /// Records a packet. Returns the excess of its transit time over the recent minimum.
    pub(super) fn on_packet(&mut self, ticks: u64, rate: u32, now: Instant) -> Duration {
        self.last = transit(ticks, rate, now);
        self.recent.update(self.last, WINDOW, now);
        let longer = self.last.saturating_sub(self.recent.min().unwrap_or(self.last));
        Duration::from_micros(longer.unsigned_abs())
    }

    /// Restarts the minimum with the last packet's transit time.
    pub(super) fn start_over(&mut self, now: Instant) {
        self.recent = WindowedMin::new();
        self.recent.update(self.last, WINDOW, now);
    }
}

fn transit(ticks: u64, rate: u32, now: Instant) -> i64 {
    let sampled = u128::from(ticks) * 1_000_000 / u128::from(rate.max(1));
    let sampled = i64::try_from(sampled).unwrap_or(i64::MAX);
    i64::try_from(now.since(Instant::ZERO).as_micros()).unwrap_or(i64::MAX).saturating_sub(sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 8000;

    #[test]
    fn the_fastest_packet_counts_until_it_is_old() {
        let at = |packet: u64, late: u64| (packet * 160, Instant::from_millis(1000 + packet * 20 + late));
        let mut transit = Transit::new(0, RATE, at(0, 30).1);
        let mut on = |packet, late| {
            let (ticks, now) = at(packet, late);
            transit.on_packet(ticks, RATE, now).as_millis()
        };
        assert_eq!([on(1, 30), on(2, 130), on(3, 5), on(4, 30)], [0, 100, 0, 25]);
        // The path is 50 ms longer from now on: that shows until the old minimum expires.
        assert_eq!(on(5, 55), 50);
        let later: Vec<u128> = (6..1100).map(|packet| on(packet, 55)).collect();
        assert_eq!((later[0], later[later.len() - 1]), (50, 0));
    }

    #[test]
    fn nothing_overflows() {
        let mut transit = Transit::new(u64::MAX, 1, Instant::ZERO);
        transit.on_packet(0, 1, Instant::MAX);
        transit.start_over(Instant::MAX);
        transit.on_packet(u64::MAX, 96_000, Instant::ZERO);
    }
}
