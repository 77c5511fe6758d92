//! Constant bit rate.

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Rng};

use super::write::{Next, Write};
use lasthop_packet::time::nanos;

/// Messages at regular intervals; the first at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The octets of a message, 1 to 65,507: over UDP, a datagram's payload.
    pub message: u32,
    /// The interval or rate of messages.
    pub beat: Beat,
    /// The maximum deviation of an interval in either direction, uniformly distributed and
    /// independent for each interval, which stays above zero. Without jitter, all intervals are
    /// equal.
    pub jitter: Duration,
}

/// The interval or rate of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The interval between messages, above zero.
    Interval(Duration),
    /// The rate of the messages' octets, without headers.
    Rate(Bitrate),
}

impl Beat {
    /// The time of message `number`, from 0, in nanoseconds after the first. It is computed from
    /// the first message, so that rounding errors do not accumulate.
    pub(super) fn offset(self, message: u32, number: u64) -> u64 {
        let nanos = match self {
            Self::Interval(interval) => interval.as_nanos().max(1) * u128::from(number),
            Self::Rate(rate) => {
                u128::from(number) * u128::from(message) * 8_000_000_000 / u128::from(rate.as_bps())
            }
        };
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// A running source of messages at regular intervals.
#[derive(Debug)]
pub struct Source {
    steps: Steps,
    /// The time of the next message.
    at: Instant,
}

impl Source {
    pub(super) fn new(constant: &Constant, start: Instant, rng: Rng) -> Self {
        Self { steps: Steps::new(constant, rng), at: start }
    }

    pub(super) fn write(&mut self) -> Write {
        self.at = self.at.after_nanos(self.steps.next());
        Write { octets: self.steps.constant.message, next: Next::At(self.at) }
    }
}

/// The sequence of intervals between messages.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) constant: Constant,
    /// The number of messages so far.
    number: u64,
    pub(super) rng: Rng,
}

impl Steps {
    pub(super) fn new(constant: &Constant, rng: Rng) -> Self {
        Self { constant: *constant, number: 0, rng }
    }

    /// The interval from this message to the next, in nanoseconds.
    pub(super) fn next(&mut self) -> u64 {
        let Constant { message, beat, jitter } = self.constant;
        let from = beat.offset(message, self.number);
        self.number += 1;
        // Time advances even at a rate too high for the clock's resolution.
        let step = beat.offset(message, self.number).saturating_sub(from).max(1);
        if jitter.is_zero() {
            return step;
        }
        let deviation = (2.0 * self.rng.uniform() - 1.0) * nanos(jitter) as f64;
        (step as f64 + deviation).round().max(1.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(constant: Constant, count: usize) -> Vec<u64> {
        let mut source = Source::new(&constant, Instant::ZERO, Rng::named(1, "flow"));
        (0..count)
            .map_while(|_| match source.write().next {
                Next::At(at) => Some(at.as_nanos()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_rate_with_a_fractional_interval_in_nanoseconds_does_not_drift() {
        let beat = Beat::Rate(Bitrate::from_bps(3_000_000).expect("above zero"));
        let times = times(Constant { message: 100, beat, jitter: Duration::ZERO }, 30_000);
        // 800 bits at 3 Mbit/s: 266,666 2/3 ns.
        assert_eq!((times[0], times[1], times[2], times[29_999]), (266_666, 533_333, 800_000, 8_000_000_000));
    }

    #[test]
    fn jitter_stays_in_its_bounds_and_keeps_the_mean() {
        let beat = Beat::Interval(Duration::from_millis(20));
        let times = times(Constant { message: 160, beat, jitter: Duration::from_millis(5) }, 20_000);
        let steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| (15_000_000..=25_000_000).contains(step)));
        // Uniform over 10 ms: a standard deviation of 2.89 ms; over 20,000 intervals, 20 us.
        let mean = times[19_999] as f64 / 20_000.0;
        assert!((mean - 20e6).abs() < 4.0 * 20.4e3, "{mean}");
    }
}
