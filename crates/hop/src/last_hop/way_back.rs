//! How late acknowledgments are because they queue on their way back.
//!
//! A round trip over a hop that is narrow on the way back includes the time that ACKs queue there,
//! and looks as if data queued on the way there. The timestamp of an ACK (RFC 7323) shows when it
//! left. Its delay above the recent minimum is queueing.
//!
//! The rate of the clock is a guess. The queueing of an ACK is a part of the round trip that it
//! ends: a guess that makes it longer is wrong.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::windowed_min::WindowedMin;

/// The rates of hosts' timestamp clocks in ticks a second, the slowest first: RFC 7323, section
/// 5.4, has 1 ms to 1 s, Linux 1 ms (1 us as `tcp_usec_ts`), Windows 10 or 1 ms, the BSDs 1, 10 or
/// 500 ms.
pub const TIMESTAMP_RATES: [u64; 6] = [1, 2, 10, 100, 1_000, 1_000_000];

/// The minimum time over which the rate of a clock is measured.
const MIN_SPAN: Duration = Duration::from_millis(100);

/// The minimum delay counts for this long. During that time the ends' clocks drift apart by no more
/// than some milliseconds.
const LASTS: Duration = Duration::from_secs(60);

/// With the right rate, an ACK seems to have waited longer than its round trip by no more than
/// this: the drift of the clocks.
const DRIFT: Duration = Duration::from_millis(10);

/// The reference reading is replaced after this time. The fastest clock does not pass half of its
/// range in it.
const MAX_SPAN: Duration = Duration::from_secs(1_000);

/// The way back from one host, as the clock in its segments shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayBack {
    first: Option<(Seq, Instant)>,
    /// Ticks a second; 0 while the rate is unknown.
    rate: u64,
    /// The rate is lower than this.
    slower_than: Option<u64>,
    /// The minimum delay of a segment relative to the first one, in nanoseconds: the time between
    /// their arrivals less the difference of their timestamps.
    min_delay: WindowedMin<i64>,
}

impl WayBack {
    /// The delay above the minimum of a segment with this timestamp, less one tick, by which a
    /// timestamp may be too early; zero if unknown. `round_trip` is the round trip that the segment
    /// ended, if it ended one.
    pub fn lateness(&mut self, timestamp: Seq, round_trip: Option<Duration>, now: Instant) -> Duration {
        let (first, began) = *self.first.get_or_insert((timestamp, now));
        let span = now.since(began);
        let offset = timestamp.offset_from(first);
        if span > MAX_SPAN || offset < 0 {
            *self = Self { first: Some((timestamp, now)), min_delay: WindowedMin::new(), ..*self };
            return Duration::ZERO;
        }
        let ticks = offset.unsigned_abs().into();
        self.learn(ticks, span, now);
        if self.rate == 0 {
            return Duration::ZERO;
        }
        let as_sent = ticks * (1_000_000_000 / self.rate);
        let delay = span.as_nanos() as i64 - as_sent.cast_signed();
        self.min_delay.update(delay, LASTS, now);
        let late = delay - self.min_delay.min().unwrap_or(delay);
        let late = Duration::from_nanos(late.unsigned_abs()).saturating_sub(self.tick());
        if round_trip.is_some_and(|round_trip| late > round_trip.saturating_add(DRIFT)) {
            (self.slower_than, self.rate) = (Some(self.rate), 0);
            return Duration::ZERO;
        }
        late
    }

    fn tick(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / self.rate.max(1))
    }

    /// Guesses the slowest clock that may have ticked this often. A clock seems slow in segments
    /// with growing delay.
    fn learn(&mut self, ticks: u64, span: Duration, now: Instant) {
        if span < MIN_SPAN || ticks < 2 {
            return;
        }
        let seen = u128::from(ticks) * 1_000_000_000 / span.as_nanos();
        let is_possible = |rate: &u64| self.slower_than.is_none_or(|refuted| *rate < refuted);
        let mut rates = TIMESTAMP_RATES.into_iter().filter(is_possible);
        let rate = rates.find(|rate| 2 * u128::from(*rate) >= seen).unwrap_or(0);
        if rate != self.rate {
            (self.rate, self.min_delay) = (rate, WindowedMin::new());
            // The delay of the first segment.
            self.min_delay.update(0, LASTS, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lateness of segments every 5 ms from a clock of this rate. Segment `n` waits for
    /// `waits(n)`, and ends a round trip that is 10 ms longer.
    fn late_by(rate: u64, count: u32, waits: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut way_back = WayBack::default();
        let mut late = Vec::new();
        for number in 0..count {
            let millis = 5 * u64::from(number);
            // The timestamps wrap.
            let timestamp = Seq(u32::MAX - 100) + (millis * rate / 1_000) as u32;
            let now = Instant::from_secs(7).after_nanos((millis + waits(number)) * 1_000_000);
            let round_trip = Some(Duration::from_millis(10 + waits(number)));
            late.push(way_back.lateness(timestamp, round_trip, now).as_millis() as u64);
        }
        late
    }

    #[test]
    fn a_segment_is_late_by_its_wait_on_the_way_back() {
        for rate in [100, 1_000, 1_000_000] {
            let late = late_by(rate, 400, |number| if number < 200 { 10 } else { 60 });
            assert!(late[..200].iter().all(|late| *late == 0), "{rate}");
            let tick = 1_000 / rate;
            assert!(
                late[200..].iter().all(|late| (50 - 2 * tick.max(1)..=50).contains(late)),
                "{rate}: {late:?}"
            );
        }
    }

    #[test]
    fn a_queue_that_grows_from_the_beginning_is_seen() {
        // The clock seems to have a third of its rate.
        let late = late_by(1_000, 100, |number| 10 * u64::from(number));
        assert!(
            late[20..].iter().zip(20..).all(|(late, number)| late.abs_diff(10 * number) <= 2),
            "{late:?}"
        );
    }

    #[test]
    fn without_a_known_clock_nothing_is_late() {
        assert_eq!(late_by(1_000, 6, |number| 10 * u64::from(number)), [0; 6]);
        assert_eq!(WayBack::default().lateness(Seq(5), None, Instant::ZERO), Duration::ZERO);
    }

    /// Kernels with HZ=250 and HZ=300 among them.
    #[test]
    fn a_clock_of_an_unlisted_rate_makes_nothing_late() {
        for rate in [3, 30, 128, 200, 250, 300, 500, 512, 750, 1024, 5_000, 100_000] {
            let late = late_by(rate, 2_000, |_| 10);
            // Never longer than the round trip and what clocks drift.
            assert!(late.iter().all(|late| *late <= 30), "{rate}: {:?}", late.iter().max());
            assert!(late[1_000..].iter().all(|late| *late == 0), "{rate}: {:?}", &late[1_000..1_010]);
        }
    }

    #[test]
    fn a_clock_that_stopped_for_a_while_makes_nothing_late() {
        let mut way_back = WayBack::default();
        for number in 0..2_000_u32 {
            // A host that was suspended for a minute.
            let suspended = if number < 1_000 { 0 } else { 60_000 };
            let now = Instant::from_secs(7).after_nanos((5 * u64::from(number) + suspended) * 1_000_000);
            let round_trip = Some(Duration::from_millis(20));
            assert_eq!(way_back.lateness(Seq(5 * number), round_trip, now), Duration::ZERO, "{number}");
        }
    }

    #[test]
    fn a_clock_that_stops_or_goes_back_makes_nothing_late() {
        let mut way_back = WayBack::default();
        for (timestamp, millis) in [(5, 0), (5, 200), (5, 400), (4, 600), (4, 900)] {
            let now = Instant::from_secs(1).after_nanos(millis * 1_000_000);
            assert_eq!(way_back.lateness(Seq(timestamp), None, now), Duration::ZERO);
        }
    }
}
