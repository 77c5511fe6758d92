//! Recent maxima: over the last few rounds, and over two periods.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    at: u64,
    value: u64,
}

/// An approximate maximum over a window of rounds: the three best samples are kept, each later than the
/// one before (Kathleen Nichols' algorithm, `lib/win_minmax.c` in Linux).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Sample; 3],
}

impl WindowedMax {
    /// The maximum; 0 at the beginning.
    pub(super) const fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds a value of round `at`; values older than `window` rounds no longer count.
    pub(super) const fn update(&mut self, value: u64, at: u64, window: u64) {
        let sample = Sample { at, value };
        let is_all_old = at - self.best[2].at > window;
        if value >= self.best[0].value || is_all_old {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.expire(sample, window);
    }

    /// Removes the best sample if it is too old, and spreads the others over the window.
    const fn expire(&mut self, sample: Sample, window: u64) {
        let [first, second, third] = self.best;
        if sample.at - first.at > window {
            self.best = [second, third, sample];
            if sample.at - self.best[0].at > window {
                self.best = [third, sample, sample];
            }
        } else if second.at == first.at && sample.at - first.at > window / 4 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if third.at == second.at && sample.at - first.at > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// A maximum over two periods.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TwoSlots {
    previous: u64,
    current: u64,
}

impl TwoSlots {
    /// The maximum; 0 at the beginning.
    #[inline]
    pub(super) const fn get(&self) -> u64 {
        if self.current > self.previous { self.current } else { self.previous }
    }

    #[inline]
    pub(super) const fn update(&mut self, value: u64) {
        if value > self.current {
            self.current = value;
        }
    }

    /// Begins a new period.
    pub(super) const fn advance(&mut self) {
        *self = Self { previous: self.current, current: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_kept_for_the_window_and_not_longer() {
        let mut max = WindowedMax::default();
        max.update(100, 0, 10);
        for at in 1..=10 {
            max.update(50, at, 10);
            assert_eq!(max.get(), 100);
        }
        max.update(50, 11, 10);
        assert_eq!(max.get(), 50);
    }

    #[test]
    fn it_is_never_below_the_latest_value_and_never_above_the_true_maximum() {
        let values: Vec<u64> = (0..500).map(|i: u64| i * i * 7919 % 1000).collect();
        let mut max = WindowedMax::default();
        for (at, &value) in values.iter().enumerate() {
            max.update(value, at as u64, 10);
            let true_max = values[at.saturating_sub(10)..=at].iter().max();
            assert!(max.get() >= value && Some(&max.get()) <= true_max, "{at}");
        }
    }

    #[test]
    fn a_pause_expires_all_samples() {
        let mut max = WindowedMax::default();
        max.update(100, 0, 10);
        max.update(1, 40, 10);
        assert_eq!(max.get(), 1);
    }

    #[test]
    fn a_value_counts_in_its_period_and_the_next() {
        let mut slots = TwoSlots::default();
        slots.update(5);
        slots.update(3);
        slots.advance();
        slots.update(1);
        assert_eq!(slots.get(), 5);
        slots.advance();
        assert_eq!(slots.get(), 1);
    }
}
