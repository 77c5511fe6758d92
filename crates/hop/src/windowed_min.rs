//! The minimum of recent values.

use std::time::Duration;

use lasthop_packet::Instant;

/// The minimum of recent values. A value counts for at least the time that is given with it, and
/// for less than twice that time.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin<T> {
    /// The minimum of the current period, and when the period began.
    current: Option<(T, Instant)>,
    /// The minimum of the period before.
    before: Option<T>,
}

impl<T: Copy + Ord> WindowedMin<T> {
    /// No values.
    pub const fn new() -> Self {
        Self { current: None, before: None }
    }

    /// Adds a value.
    pub fn update(&mut self, value: T, lasts: Duration, now: Instant) {
        match &mut self.current {
            Some((min, since)) if now.since(*since) < lasts => *min = value.min(*min),
            current => {
                let counts_on = |since: Instant| now.since(since) < 2 * lasts;
                self.before = current.filter(|(_, since)| counts_on(*since)).map(|(min, _)| min);
                *current = Some((value, now));
            }
        }
    }

    /// The minimum; `None` without values.
    pub fn min(&self) -> Option<T> {
        let (min, _) = self.current?;
        Some(self.before.map_or(min, |before| before.min(min)))
    }
}

impl<T: Copy + Ord> Default for WindowedMin<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_its_time_and_up_to_twice_as_long() {
        let lasts = Duration::from_secs(10);
        let mut minimum = WindowedMin::new();
        assert_eq!(minimum.min(), None);
        for (second, value, expected) in
            [(0, 5, 5), (1, 7, 5), (9, 3, 3), (10, 8, 3), (19, 6, 3), (20, 9, 6), (30, 9, 9)]
        {
            minimum.update(value, lasts, Instant::from_secs(second));
            assert_eq!(minimum.min(), Some(expected), "{second} s");
        }
        minimum.update(20, lasts, Instant::from_secs(1000));
        assert_eq!(minimum.min(), Some(20), "no values in between");
    }
}
