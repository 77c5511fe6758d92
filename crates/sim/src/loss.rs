//! Which packets a link loses: each by chance, by chance in bursts, or by its number.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::Arc;

use lasthop_packet::{Probability, Rng};

/// The packets (wired) or transmissions of frames (wireless) that one direction of a link loses.
/// Numbers count from 1, those that a full queue drops not among them, and begin again when the loss
/// changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each with this probability, independent of everything else.
    Independent(Probability),
    /// In bursts.
    Bursts(GilbertElliott),
    /// The n-th, the 2n-th and so on.
    Every(NonZeroU32),
    /// Those of these numbers.
    Numbers(Arc<Numbers>),
}

impl Loss {
    /// None.
    pub const NONE: Self = Self::Independent(Probability::ZERO);
}

impl From<Probability> for Loss {
    fn from(loss: Probability) -> Self {
        Self::Independent(loss)
    }
}

/// The Gilbert-Elliott model: a Markov chain of a good and a bad state, which moves after each packet.
/// The state in which a packet finds it has the probability of its loss, as in `gemodel` of Linux's
/// netem; but the chain begins in equilibrium, so that the expected loss is that of [`Self::mean`] from
/// the first packet on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// The probability, after a packet, that a good state turns bad; netem's `p`.
    pub to_bad: Probability,
    /// The probability, after a packet, that a bad state turns good; netem's `r`.
    pub to_good: Probability,
    /// The probability that a packet in the bad state is lost; netem's `1-h`.
    pub loss_in_bad: Probability,
    /// The probability that a packet in the good state is lost; netem's `1-k`.
    pub loss_in_good: Probability,
}

impl GilbertElliott {
    /// The simple Gilbert model: all packets are lost in the bad state, and none in the good one.
    const fn simple(to_bad: Probability, to_good: Probability) -> Self {
        Self { to_bad, to_good, loss_in_bad: Probability::ONE, loss_in_good: Probability::ZERO }
    }

    /// A share of losses where the losses of successive packets have this correlation coefficient: after
    /// a lost packet, the next one is lost with the probability `share + correlation * (1 - share)`.
    /// `None` for a correlation of 1, which would never change its state.
    pub fn correlated(share: Probability, correlation: Probability) -> Option<Self> {
        let moves = 1.0 - correlation.value();
        let turns = |share: f64| Probability::new(share * moves);
        (moves > 0.0).then_some(())?;
        Some(Self::simple(turns(share.value())?, turns(1.0 - share.value())?))
    }

    /// A share of losses that come in bursts of this mean length in packets, geometrically distributed.
    /// `None` if there is no such chain: a burst has at least one packet, and so has a gap.
    pub fn from_bursts(share: Probability, mean_length: f64) -> Option<Self> {
        let to_good = Probability::new(1.0 / mean_length)?;
        let to_bad = Probability::new(share.value() / (1.0 - share.value()) * to_good.value())?;
        (!to_good.is_zero()).then_some(Self::simple(to_bad, to_good))
    }

    /// The share of packets that are lost in the long run.
    pub fn mean(&self) -> f64 {
        let bad = self.share_of_bad();
        bad * self.loss_in_bad.value() + (1.0 - bad) * self.loss_in_good.value()
    }

    /// The share of packets that find the bad state; none if the chain never moves.
    fn share_of_bad(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.value(), self.to_good.value());
        if to_bad > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 }
    }
}

/// Numbers of packets, as ranges; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// In order, with gaps between them.
    ranges: Vec<RangeInclusive<u32>>,
}

impl Numbers {
    /// The numbers of these ranges, in any order. `None` without any, or with 0 among them: numbers
    /// count from 1.
    pub fn new(mut ranges: Vec<RangeInclusive<u32>>) -> Option<Self> {
        ranges.sort_by_key(|range| *range.start());
        let mut disjoint: Vec<RangeInclusive<u32>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            if range.is_empty() || *range.start() == 0 {
                return None;
            }
            match disjoint.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => disjoint.push(range),
            }
        }
        (!disjoint.is_empty()).then_some(Self { ranges: disjoint })
    }
}

/// The losses of one direction at work.
#[derive(Debug)]
pub(crate) struct Losses {
    process: Process,
    rng: Rng,
}

#[derive(Debug)]
enum Process {
    Independent(Probability),
    Bursts {
        chain: GilbertElliott,
        /// `None` until the first packet.
        is_bad: Option<bool>,
    },
    Every {
        period: NonZeroU32,
        /// Packets since the last loss.
        passed: u32,
    },
    Numbers {
        numbers: Arc<Numbers>,
        passed: u64,
        /// Ranges that are behind.
        behind: usize,
    },
}

impl Losses {
    pub(crate) fn new(loss: &Loss, rng: Rng) -> Self {
        Self { process: Process::new(loss), rng }
    }

    /// From now on it loses what `loss` says.
    pub(crate) fn set(&mut self, loss: &Loss) {
        self.process = Process::new(loss);
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(crate) fn next(&mut self) -> bool {
        match &mut self.process {
            Process::Independent(loss) => self.rng.happens(*loss),
            other => other.next(&mut self.rng),
        }
    }
}

impl Process {
    fn new(loss: &Loss) -> Self {
        match loss {
            Loss::Independent(loss) => Self::Independent(*loss),
            Loss::Bursts(chain) => Self::Bursts { chain: *chain, is_bad: None },
            Loss::Every(period) => Self::Every { period: *period, passed: 0 },
            Loss::Numbers(numbers) => Self::Numbers { numbers: Arc::clone(numbers), passed: 0, behind: 0 },
        }
    }

    #[cold]
    fn next(&mut self, rng: &mut Rng) -> bool {
        match self {
            Self::Independent(loss) => rng.happens(*loss),
            Self::Bursts { chain, is_bad } => {
                let was_bad = is_bad.unwrap_or_else(|| rng.uniform() < chain.share_of_bad());
                let (loss, turns) = if was_bad {
                    (chain.loss_in_bad, chain.to_good)
                } else {
                    (chain.loss_in_good, chain.to_bad)
                };
                let is_lost = rng.happens(loss);
                *is_bad = Some(was_bad != rng.happens(turns));
                is_lost
            }
            Self::Every { period, passed } => {
                *passed += 1;
                let is_lost = *passed == period.get();
                if is_lost {
                    *passed = 0;
                }
                is_lost
            }
            Self::Numbers { numbers, passed, behind } => {
                *passed += 1;
                let Some(range) = numbers.ranges.get(*behind) else { return false };
                if *passed == u64::from(*range.end()) {
                    *behind += 1;
                }
                *passed >= u64::from(*range.start())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(value: f64) -> Probability {
        Probability::new(value / 100.0).expect("0 to 100")
    }

    fn lost(loss: &Loss, packets: u32) -> Vec<bool> {
        let mut losses = Losses::new(loss, Rng::named(3, "losses"));
        (0..packets).map(|_| losses.next()).collect()
    }

    fn numbers(loss: &Loss, packets: u32) -> Vec<usize> {
        let lost = lost(loss, packets);
        (1..=lost.len()).filter(|number| lost[number - 1]).collect()
    }

    /// The share of losses, the mean length of a burst, and the share of losses among the packets
    /// behind a lost one.
    fn statistics(chain: GilbertElliott) -> (f64, f64, f64) {
        let lost = lost(&Loss::Bursts(chain), 2_000_000);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let both = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
        (count / lost.len() as f64, count / bursts, both / count)
    }

    fn assert_near(measured: f64, expected: f64, what: &str) {
        assert!((measured / expected - 1.0).abs() < 0.025, "{what}: {measured}, expected {expected}");
    }

    #[test]
    fn a_correlation_leaves_the_share_of_losses_as_it_is() {
        for (share, correlation) in [(0.01, 0.25), (0.05, 0.9), (0.3, 0.5), (0.2, 0.0)] {
            let chain = GilbertElliott::correlated(percent(share * 100.0), percent(correlation * 100.0));
            let chain = chain.expect("below 100%");
            let (measured, burst, after_a_loss) = statistics(chain);
            assert_near(measured, share, "the share");
            assert_near(burst, 1.0 / ((1.0 - correlation) * (1.0 - share)), "the mean burst");
            assert_near(after_a_loss, share + correlation * (1.0 - share), "after a loss");
        }
        assert_eq!(GilbertElliott::correlated(percent(1.0), percent(100.0)), None);
    }

    #[test]
    fn bursts_have_their_mean_length_and_share() {
        for (share, length) in [(0.01, 1.0), (0.01, 4.0), (0.2, 10.0), (0.5, 1.0)] {
            let chain = GilbertElliott::from_bursts(percent(share * 100.0), length).expect("a chain");
            let (measured, burst, _) = statistics(chain);
            assert_near(measured, share, "the share");
            assert_near(burst, length, "the mean burst");
        }
        for (share, length) in [(1.0, 0.5), (90.0, 4.0), (100.0, 4.0), (1.0, f64::NAN), (1.0, f64::INFINITY)]
        {
            assert_eq!(GilbertElliott::from_bursts(percent(share), length), None, "{share} {length}");
        }
    }

    /// Gilbert-Elliott: the share of losses is `(1-h) p/(p+r) + (1-k) r/(p+r)`.
    #[test]
    fn a_chain_with_losses_in_both_states_has_the_share_of_the_closed_form() {
        let chain = GilbertElliott {
            to_bad: percent(2.0),
            to_good: percent(10.0),
            loss_in_bad: percent(70.0),
            loss_in_good: percent(0.5),
        };
        assert_near(chain.mean(), (0.7 * 2.0 + 0.005 * 10.0) / 12.0, "the closed form");
        assert_near(statistics(chain).0, chain.mean(), "the share");
    }

    #[test]
    fn the_expected_loss_is_that_of_the_chain_from_the_first_packet_on() {
        let chain = GilbertElliott::from_bursts(percent(30.0), 50.0).expect("a chain");
        let first = |seed| Losses::new(&Loss::Bursts(chain), Rng::named(seed, "losses")).next();
        let lost = (0..10_000).filter(|seed| first(*seed)).count();
        assert!((2_800..3_200).contains(&lost), "{lost}");
        let certain = GilbertElliott::correlated(Probability::ONE, percent(25.0)).expect("below 100%");
        assert!(lost_all(&Loss::Bursts(certain)));
        let never = GilbertElliott::simple(Probability::ZERO, Probability::ZERO);
        assert_eq!(numbers(&Loss::Bursts(never), 100), []);
    }

    fn lost_all(loss: &Loss) -> bool {
        lost(loss, 100).iter().all(|lost| *lost)
    }

    #[test]
    fn every_nth_packet_is_lost() {
        let every = |n| Loss::Every(NonZeroU32::new(n).expect("above zero"));
        assert_eq!(numbers(&every(4), 13), [4, 8, 12]);
        assert!(lost_all(&every(1)));
        assert_eq!(numbers(&every(u32::MAX), 100), []);
    }

    #[test]
    fn packets_are_lost_by_their_numbers() {
        let numbers_of = |ranges: &[RangeInclusive<u32>]| Numbers::new(ranges.to_vec());
        let chosen = numbers_of(&[9..=11, 3..=3, 4..=4, 10..=12, u32::MAX..=u32::MAX]).expect("numbers");
        assert_eq!(chosen.ranges, [3..=4, 9..=12, u32::MAX..=u32::MAX]);
        let loss = Loss::Numbers(Arc::new(chosen));
        assert_eq!(numbers(&loss, 30), [3, 4, 9, 10, 11, 12]);
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let backwards = numbers_of(&[5..=3]);
        assert_eq!([numbers_of(&[]), numbers_of(&[0..=3]), backwards], [None, None, None]);
    }

    #[test]
    fn a_change_of_loss_begins_its_numbers_anew() {
        let every = Loss::Every(NonZeroU32::new(3).expect("above zero"));
        let mut losses = Losses::new(&every, Rng::named(1, "losses"));
        assert_eq!([losses.next(), losses.next()], [false, false]);
        losses.set(&every);
        assert_eq!([losses.next(), losses.next(), losses.next()], [false, false, true]);
    }
}
