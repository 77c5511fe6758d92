//! Simulated and real time on one scale: nanoseconds since the start of a run.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point in time, in nanoseconds since the start of the run; covers 584 years.
///
/// No crate of floors 0 to 3 reads a clock: an `Instant` is always an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// After every event.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The instant `seconds` seconds after the start.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds since the start, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The instant `nanos` nanoseconds later; saturates at [`Instant::MAX`]. Cheaper than adding a
    /// [`Duration`], where that counts.
    #[inline]
    #[must_use]
    pub const fn after_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// The first instant not before `self` that is a whole number of `tick`s after the start;
    /// `self` if `tick` is zero.
    #[must_use]
    #[inline]
    pub const fn round_up_to(self, tick: Duration) -> Self {
        let tick = tick.as_nanos() as u64;
        if tick == 0 { self } else { Self(self.0.div_ceil(tick).saturating_mul(tick)) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates at [`Instant::MAX`].
    #[inline]
    fn add(self, delay: Duration) -> Self {
        let nanos = delay.as_secs().saturating_mul(1_000_000_000);
        Self(self.0.saturating_add(nanos).saturating_add(u64::from(delay.subsec_nanos())))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, delay: Duration) {
        *self = *self + delay;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1_000)
    }
}

/// A duration in nanoseconds, at most those of [`Instant::MAX`].
#[inline]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_keeps_whole_ticks_and_moves_everything_else() {
        let tick = Duration::from_millis(500);
        assert_eq!(Instant::from_millis(1000).round_up_to(tick), Instant::from_millis(1000));
        assert_eq!(Instant::from_nanos(1).round_up_to(tick), Instant::from_millis(500));
        assert_eq!(Instant::from_nanos(7).round_up_to(Duration::ZERO), Instant::from_nanos(7));
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO + Duration::MAX, Instant::MAX);
        assert_eq!(Instant::ZERO - Instant::from_secs(1), Duration::ZERO);
    }
}
