//! Bursts: messages at regular intervals in on periods, none in off periods.
//!
//! The clock of the messages stops in off periods: an interval that is incomplete at the end of a
//! burst continues in the next one. So the mean rate is exactly that of a burst times the fraction
//! of the time that is on, whatever the length of bursts compared with that of an interval.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use super::constant::{Constant, Steps};
use super::write::{Next, Write};
use lasthop_packet::time::nanos;

/// Messages at regular intervals, in bursts. The first period is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// The messages of an on period.
    pub constant: Constant,
    /// The duration of an on period.
    pub on: Span,
    /// The duration of an off period.
    pub off: Span,
}

/// The duration of an on or off period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// A constant.
    Fixed(Duration),
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
    /// Pareto distributed, with this mean: the aggregate of many such sources is self-similar for a
    /// shape below 2 (Willinger et al. 1997).
    Pareto(Duration, Shape),
}

/// The shape of a Pareto distribution that has a mean: above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape(f64);

impl Shape {
    /// Creates a shape. `None` unless it is finite and above 1.
    pub fn new(shape: f64) -> Option<Self> {
        (shape.is_finite() && shape > 1.0).then_some(Self(shape))
    }
}

impl Span {
    /// Draws a duration, in nanoseconds.
    fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(span) => nanos(span),
            Self::Exponential(mean) => nanos(rng.exponential(mean)),
            Self::Pareto(mean, Shape(shape)) => nanos(rng.pareto(mean, shape)),
        }
    }
}

/// A running source of messages in bursts.
#[derive(Debug)]
pub struct Source {
    steps: Steps,
    on: Span,
    off: Span,
    at: Instant,
    /// The rest of the on period after `at`, in nanoseconds.
    left: u64,
    /// The rest of the interval to the next message, in nanoseconds of on periods.
    wait: u64,
}

/// The maximum number of on periods without a message in one call of `write`. The search for the
/// next message continues in another call, so that each takes a bounded time.
const PERIODS_PER_CALL: u32 = 1000;

impl Source {
    pub(super) fn new(on_off: &OnOff, start: Instant, mut rng: Rng) -> Self {
        let left = on_off.on.draw(&mut rng);
        let steps = Steps::new(&on_off.constant, rng);
        Self { steps, on: on_off.on, off: on_off.off, at: start, left, wait: 0 }
    }

    pub(super) fn write(&mut self) -> Write {
        let octets = if self.wait == 0 {
            self.wait = self.steps.next();
            self.steps.constant.message
        } else {
            0
        };
        for _ in 0..PERIODS_PER_CALL {
            if self.wait < self.left {
                self.at = self.at.after_nanos(self.wait);
                self.left -= self.wait;
                self.wait = 0;
                break;
            }
            self.wait -= self.left;
            let off = self.off.draw(&mut self.steps.rng);
            self.at = self.at.after_nanos(self.left).after_nanos(off);
            // Time advances even if both durations are zero.
            self.left = self.on.draw(&mut self.steps.rng).max(1);
        }
        Write { octets, next: Next::At(self.at) }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Bitrate;

    use super::super::Beat;
    use super::*;

    fn on_off(on: Span, off: Span) -> OnOff {
        let beat = Beat::Rate(Bitrate::mbps(1));
        OnOff { constant: Constant { message: 125, beat, jitter: Duration::ZERO }, on, off }
    }

    /// The times of the messages after the first, in nanoseconds.
    fn times(on_off: OnOff, count: usize) -> Vec<u64> {
        let mut source = Source::new(&on_off, Instant::ZERO, Rng::named(1, "flow"));
        let mut times = Vec::new();
        while times.len() < count {
            if let Next::At(at) = source.write().next {
                times.push(at.as_nanos());
            }
        }
        times
    }

    #[test]
    fn the_clock_of_messages_stops_in_off_periods() {
        // One message per millisecond; 2.5 ms on, 10 ms off: 0 1 2 | 13 (0.5 of its interval before
        // the gap) 14 | 25 26 27 ...
        let ms = |tenths: u64| Span::Fixed(Duration::from_micros(100 * tenths));
        let tenths: Vec<u64> = times(on_off(ms(25), ms(100)), 6).iter().map(|at| at / 100_000).collect();
        assert_eq!(tenths, [10, 20, 130, 140, 250, 260]);
    }

    #[test]
    fn the_mean_rate_is_that_of_bursts_times_the_fraction_of_time_on() {
        let (on, off) = (Duration::from_millis(300), Duration::from_millis(700));
        for (on, off, tolerance) in [
            (Span::Fixed(on), Span::Fixed(off), 1e-3),
            // 3,000 cycles; the standard deviation of the fraction is 0.3 * 0.7 * sqrt(2 / 3,000).
            (Span::Exponential(on), Span::Exponential(off), 0.02),
            (Span::Pareto(on, Shape(2.5)), Span::Pareto(off, Shape(2.5)), 0.02),
        ] {
            let count = 900_000;
            let last = times(on_off(on, off), count)[count - 1] as f64;
            let share = count as f64 * 1e6 / last;
            assert!((share - 0.3).abs() < tolerance, "{on:?}: {share}");
        }
    }

    #[test]
    fn a_pareto_span_has_its_minimum_and_its_mean() {
        let mut rng = Rng::named(3, "pareto");
        let span = Span::Pareto(Duration::from_millis(100), Shape::new(3.0).expect("above 1"));
        let draws: Vec<u64> = (0..200_000).map(|_| span.draw(&mut rng)).collect();
        let least = draws.iter().min().copied().unwrap_or(0);
        let mean = draws.iter().sum::<u64>() as f64 / 2e5;
        assert!((66_666_000..66_670_000).contains(&least), "{least}");
        assert!((mean / 100e6 - 1.0).abs() < 0.01, "{mean}");
        assert!(Shape::new(1.0).is_none() && Shape::new(f64::NAN).is_none());
    }

    #[test]
    fn messages_with_an_interval_longer_than_on_periods_are_sent() {
        let us = |us| Span::Fixed(Duration::from_micros(us));
        let mut rare = on_off(us(1), us(9));
        rare.constant.beat = Beat::Interval(Duration::from_millis(10));
        let mut source = Source::new(&rare, Instant::ZERO, Rng::named(1, "flow"));
        let written: u32 = (0..100).map(|_| source.write().octets / 125).sum();
        // A message takes 10,000 on periods, 1,000 per call.
        assert_eq!(written, 10);
    }
}
