//! The cycle of pacing gains (`bbr_pacing_gain`): faster for a while, slower for a while, and six
//! times the bandwidth as it is. Each phase takes about the least round-trip time.

use lasthop_packet::Instant;

use super::gain::Gain;
use crate::congestion::bbr::dice::Dice;

const PHASES: u8 = 8;
/// The phase that drains: no cycle begins with it (`bbr_cycle_rand`).
const SLOWER: u8 = 1;

/// Where in the cycle it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GainCycle {
    phase: u8,
    start: Instant,
}

impl GainCycle {
    /// Begins with any phase but the slower one.
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

    /// Whether it is the phase that looks for more bandwidth.
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
    fn it_begins_with_any_phase_but_the_slower_one_and_a_round_of_it_is_even() {
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
