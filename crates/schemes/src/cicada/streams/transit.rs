//! How much longer a packet takes to its receiver than the quickest one, by its timestamp.
//!
//! That is what it took to here, and what it will wait on the hop ahead.

use std::time::Duration;

use lasthop_hop::windowed_min::WindowedMin;
use lasthop_packet::Instant;

/// The least transit time counts for this long, up to twice as long: clocks drift apart, and paths
/// change.
const LASTS: Duration = Duration::from_secs(10);

/// The transit times lately. They are differences of two clocks: only their own differences mean
/// anything. In microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transit {
    lately: WindowedMin<i64>,
    last: i64,
}

impl Transit {
    /// The first packet, with this timestamp by a clock of that many hertz.
    pub(super) fn new(ticks: u64, rate: u32, now: Instant) -> Self {
        let mut first = Self { lately: WindowedMin::new(), last: transit(ticks, rate, now) };
        first.start_over(now);
        first
    }

    /// How much longer a packet takes that was overtaken; the path is not judged by it.
    pub(super) fn of_overtaken(&self, ticks: u64, rate: u32, now: Instant) -> Duration {
        let longer = transit(ticks, rate, now).saturating_sub(self.lately.least().unwrap_or(self.last));
        Duration::from_micros(longer.max(0).unsigned_abs())
    }

    /// Takes in a packet. Returns how much longer it took than the quickest one lately.
    pub(super) fn on_packet(&mut self, ticks: u64, rate: u32, now: Instant) -> Duration {
        self.last = transit(ticks, rate, now);
        self.lately.update(self.last, LASTS, now);
        let longer = self.last.saturating_sub(self.lately.least().unwrap_or(self.last));
        Duration::from_micros(longer.unsigned_abs())
    }

    /// What the last packet took is what the path takes from now on.
    pub(super) fn start_over(&mut self, now: Instant) {
        self.lately = WindowedMin::new();
        self.lately.update(self.last, LASTS, now);
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
    fn the_quickest_packet_counts_until_it_is_old() {
        let at = |packet: u64, late: u64| (packet * 160, Instant::from_millis(1000 + packet * 20 + late));
        let mut transit = Transit::new(0, RATE, at(0, 30).1);
        let mut on = |packet, late| {
            let (ticks, now) = at(packet, late);
            transit.on_packet(ticks, RATE, now).as_millis()
        };
        assert_eq!([on(1, 30), on(2, 130), on(3, 5), on(4, 30)], [0, 100, 0, 25]);
        // The path is 50 ms longer from now on: that shows until the quickest one is forgotten.
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
