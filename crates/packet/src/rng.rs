//! Named randomness: every entity draws from its own stream, so that another entity, or another
//! draw by one of them, changes nothing for the others.

use std::time::Duration;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

use crate::units::Probability;

/// A reproducible source of randomness (PCG XSL-RR 128/64): the same seed and name give the same
/// draws on every machine.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64);

impl Rng {
    /// The stream `name` of the run with this `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a over the name picks the PCG stream; splitmix spreads the seed over the 128-bit
        // state.
        let stream = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let state =
            (u128::from(splitmix(seed ^ stream)) << 64) | u128::from(splitmix(seed.wrapping_add(stream)));
        Self(Pcg64::new(state, (u128::from(stream) << 64) | u128::from(splitmix(stream))))
    }

    /// A uniform 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number from 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform integer below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Whether an event of this probability happens now. Draws no number if the result is certain.
    pub fn happens(&mut self, probability: Probability) -> bool {
        let p = probability.value();
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// A number from the normal distribution with mean 0 and deviation 1 (Box and Muller; one of
    /// the pair is not used).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
    }

    /// A duration with an exponential distribution of this mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        let nanos = -libm::log(1.0 - self.uniform()) * mean.as_nanos() as f64;
        Duration::from_nanos(nanos as u64)
    }

    /// A duration with a Pareto distribution of this mean; `shape` is above 1, otherwise there is
    /// no mean and the duration is zero.
    pub fn pareto(&mut self, mean: Duration, shape: f64) -> Duration {
        let minimum = mean.as_nanos() as f64 * (shape - 1.0) / shape;
        Duration::from_nanos((minimum * libm::pow(1.0 - self.uniform(), -1.0 / shape)) as u64)
    }
}

/// One step of the splitmix64 sequence: spreads nearby numbers far apart.
pub(crate) fn splitmix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_and_name_give_one_sequence_and_another_name_another() {
        let draw = |seed, name| -> Vec<u64> {
            let mut rng = Rng::named(seed, name);
            (0..4).map(|_| rng.next_u64()).collect()
        };
        assert_eq!(draw(1, "air"), draw(1, "air"));
        assert_ne!(draw(1, "air"), draw(1, "wire"));
        assert_ne!(draw(1, "air"), draw(2, "air"));
    }

    #[test]
    fn exponential_durations_have_their_mean() {
        let mut rng = Rng::named(7, "mean");
        let mean = Duration::from_millis(100);
        let total: Duration = (0..100_000).map(|_| rng.exponential(mean)).sum();
        let measured = total.as_secs_f64() / 100_000.0;
        assert!((measured - 0.1).abs() < 0.001, "{measured}");
    }

    #[test]
    fn normal_numbers_have_their_mean_and_deviation() {
        let mut rng = Rng::named(7, "normal");
        let numbers: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn certainty_needs_no_draw() {
        let mut rng = Rng::named(7, "certain");
        let before = rng.clone().next_u64();
        assert!(!rng.happens(Probability::ZERO));
        assert!(rng.happens(Probability::ONE));
        assert_eq!(rng.next_u64(), before);
    }
}
