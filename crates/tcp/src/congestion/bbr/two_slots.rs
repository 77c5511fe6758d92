//! The maximum of the current period and the previous one.

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
