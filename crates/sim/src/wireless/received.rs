//! Which frames have reached a link layer's receiver.

/// The frame numbers that a receiver remembers: a frame that is transmitted again is never further
/// behind the newest one than this.
pub(super) const REMEMBERED: u32 = u64::BITS;

/// The frame numbers that have arrived, as a window of constant size: all that is behind it counts
/// as arrived. Numbers wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// The number behind the highest that has arrived.
    next: u32,
    /// Bit n: `next - 1 - n` has arrived.
    recent: u64,
}

impl Received {
    /// Whether a frame of this number has not arrived yet.
    pub(super) const fn is_new(&self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.next);
        if ahead.cast_signed() >= 0 {
            return true;
        }
        // From 0 for the highest that has arrived.
        let back = !ahead;
        back < REMEMBERED && self.recent & (1 << back) == 0
    }

    /// A frame of this number has arrived.
    pub(super) fn insert(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.next);
        if ahead.cast_signed() >= 0 {
            let shift = ahead.saturating_add(1);
            self.recent = self.recent.checked_shl(shift).unwrap_or(0) | 1;
            self.next = number.wrapping_add(1);
        } else if !ahead < REMEMBERED {
            self.recent |= 1 << !ahead;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lasthop_packet::Rng;

    use super::*;

    #[test]
    fn a_window_says_what_a_set_of_all_numbers_says() {
        let mut rng = Rng::named(1, "received");
        for _ in 0..200 {
            let first = 0_u32.wrapping_sub(rng.below(100) as u32);
            let mut received = Received { next: first, recent: 0 };
            let mut all = BTreeSet::new();
            // Where the window ends, counted from `first`.
            let mut end = 0;
            for _ in 0..400 {
                let number = (end + rng.below(90)).saturating_sub(u64::from(REMEMBERED));
                let wrapped = first.wrapping_add(number as u32);
                let is_within = number + u64::from(REMEMBERED) >= end;
                assert_eq!(
                    received.is_new(wrapped),
                    is_within && !all.contains(&number),
                    "{number} of {end}"
                );
                received.insert(wrapped);
                all.insert(number);
                end = end.max(number + 1);
            }
        }
    }

    #[test]
    fn in_order_what_is_behind_the_newest_has_arrived() {
        let mut received = Received::default();
        for number in [0, 1, 5, 70] {
            assert!(received.is_new(number), "{number}");
            received.insert(number);
            assert!(!received.is_new(number), "{number}");
        }
        assert!(received.is_new(69), "it was given up, or overtaken");
        assert!(!received.is_new(6), "too far behind");
    }
}
