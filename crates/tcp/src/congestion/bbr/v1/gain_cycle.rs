//! Multiples of the bandwidth and of the bandwidth-delay product, and the cycle of pacing gains (`bbr_pacing_gain`): one phase above the bandwidth, one below it, and
//! six at the bandwidth. Each phase takes about the minimum round-trip time.

use lasthop_packet::Instant;

use crate::congestion::bbr::dice::Dice;

const PHASES: u8 = 8;
/// The phase that drains the queue: no cycle begins with it (`bbr_cycle_rand`).
const SLOWER: u8 = 1;

/// A multiple, in 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Gain {
    /// 1.
    pub(super) const UNIT: Self = Self(256);
    /// 2/ln 2: the minimum with which the rate doubles each round trip.
    pub(super) const HIGH: Self = Self(256 * 2885 / 1000 + 1);
    /// The inverse of [`Self::HIGH`], which drains its queue in a round trip.
    pub(super) const DRAIN: Self = Self(256 * 1000 / 2885);
    /// Gain of the window in steady state: room for late ACKs.
    pub(super) const CWND: Self = Self(512);
    /// 5/4, to find more bandwidth.
    pub(super) const FASTER: Self = Self(256 * 5 / 4);
    /// 3/4, to drain the queue of [`Self::FASTER`].
    pub(super) const SLOWER: Self = Self(256 * 3 / 4);

    #[inline]
    pub(super) const fn of(self, value: u64) -> u64 {
        value.saturating_mul(self.0) >> 8
    }
}

/// The position in the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GainCycle {
    phase: u8,
    start: Instant,
}

impl GainCycle {
    /// Begins with a random phase other than the slower one.
    pub(super) const fn begin(&mut self, dice: &mut Dice, now: Instant) {
        self.phase = PHASES - 1 - dice.below(PHASES as u64 - 1) as u8;
        self.advance(now);
    }

    pub(super) const fn advance(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % PHASES;
        self.start = now;
    }

    /// When the phase began.
    pub(super) const fn start(&self) -> Instant {
        self.start
    }

    /// Whether this is the phase that probes for more bandwidth.
    pub(super) const fn is_faster(&self) -> bool {
        self.phase == 0
    }

    pub(super) const fn gain(&self) -> Gain {
        match self.phase {
            0 => Gain::FASTER,
            SLOWER => Gain::SLOWER,
            _ => Gain::UNIT,
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Seq;

    use super::*;

    #[test]
    fn a_cycle_begins_with_any_phase_but_the_slower_one_and_its_mean_gain_is_one() {
        let mut begun = [false; 8];
        for seed in 0..100 {
            let (mut cycle, mut dice) = (GainCycle::default(), Dice::new(Seq(seed)));
            cycle.begin(&mut dice, Instant::ZERO);
            begun[usize::from(cycle.phase)] = true;
            let mut sum = 0;
            for _ in 0..8 {
                sum += cycle.gain().of(256);
                cycle.advance(Instant::ZERO);
            }
            assert_eq!(sum, 8 * 256);
        }
        assert_eq!(begun, [true, false, true, true, true, true, true, true]);
    }
}
