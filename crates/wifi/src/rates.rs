//! The rates of a raw frame's transmissions.

use super::phy::Rate;

/// The rates of a raw frame's transmissions, all of the cell's standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// The lowest basic rate, up to the station's retry limit.
    LowestBasic,
    /// One rate, up to the station's retry limit.
    Fixed(Rate),
    /// One after the other, as the sender's rate control has chosen them.
    Chain(RetryChain),
}

/// A multi-rate retry chain: rates, and the number of transmissions at each, at most [`RetryChain::STAGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryChain {
    /// Those that are not used have no tries.
    stages: [(Rate, u8); RetryChain::STAGES],
}

impl RetryChain {
    /// The maximum number of stages, as drivers of Linux have them (`IEEE80211_TX_MAX_RATES`).
    pub const STAGES: usize = 4;

    /// A chain of these stages, the first of which is tried at least once; `None` if there is none, or too many.
    pub fn new(stages: &[(Rate, u8)]) -> Option<Self> {
        let (first, _) = stages.first().filter(|(_, tries)| *tries > 0)?;
        let mut chain = [(*first, 0); Self::STAGES];
        chain.get_mut(..stages.len())?.copy_from_slice(stages);
        Some(Self { stages: chain })
    }

    /// The number of transmissions, after which the frame is given up.
    pub fn tries(self) -> u32 {
        self.stages.iter().map(|(_, tries)| u32::from(*tries)).sum()
    }

    /// The rate of a transmission, from 0; that of the last one for all that follow.
    pub fn rate(self, transmission: u32) -> Rate {
        let mut rate = self.stages[0].0;
        let mut before = 0;
        for (next, tries) in self.stages.into_iter().filter(|(_, tries)| *tries > 0) {
            if transmission < before {
                break;
            }
            rate = next;
            before += u32::from(tries);
        }
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other_and_the_last_one_stays() {
        let stages = [(Rate::OFDM_54, 2), (Rate::OFDM_24, 1), (Rate::OFDM_6, 3)];
        let chain = RetryChain::new(&stages).expect("it is right");
        let rates: Vec<Rate> = (0..8).map(|transmission| chain.rate(transmission)).collect();
        let [fast, middle, slow] = stages.map(|(rate, _)| rate);
        assert_eq!(rates, [fast, fast, middle, slow, slow, slow, slow, slow]);
        assert_eq!(chain.tries(), 6);
    }

    #[test]
    fn a_chain_without_a_first_try_or_with_five_stages_is_none() {
        assert_eq!(RetryChain::new(&[]), None);
        assert_eq!(RetryChain::new(&[(Rate::DSSS_1, 0), (Rate::DSSS_2, 1)]), None);
        assert_eq!(RetryChain::new(&[(Rate::DSSS_1, 1); 5]), None);
    }
}
