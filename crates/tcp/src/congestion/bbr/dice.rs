//! Random numbers that are the same in each run, seeded with the connection's first sequence
//! number.

use lasthop_packet::Seq;

/// `SplitMix64`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    pub(super) const fn new(seed: Seq) -> Self {
        Self { state: seed.0 as u64 }
    }

    /// Returns a number below `n`, which must be at least 1.
    pub(super) const fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_uniformly_distributed() {
        let mut dice = Dice::new(Seq(77));
        let mut counts = [0; 7];
        for _ in 0..7000 {
            counts[dice.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
