//! Truncated heavy-tailed distributions, for the sizes of files, messages and objects.

use lasthop_packet::Rng;
use libm::{erf, exp, log, pow, sqrt};

/// A lognormal distribution, truncated to an interval: draws outside it are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// The mean of the logarithm.
    pub mu: f64,
    /// The standard deviation of the logarithm, above zero.
    pub sigma: f64,
    /// The minimum, above zero.
    pub min: f64,
    /// The maximum, not below `min`.
    pub max: f64,
}

/// A Pareto distribution with an upper bound: greater draws are replaced by the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The shape, above zero: the smaller, the heavier the tail.
    pub shape: f64,
    /// The minimum, above zero.
    pub min: f64,
    /// The maximum, not below `min`.
    pub max: f64,
}

/// The maximum number of repeated draws. If all are outside the interval, the result is the bound
/// that is nearer to the last one.
const MAX_DRAWS: u32 = 10_000;

impl Lognormal {
    /// Draws a number.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        let draws = (0..MAX_DRAWS).map(|_| exp(self.mu + self.sigma * rng.normal()));
        let mut last = self.min;
        for draw in draws {
            if (self.min..=self.max).contains(&draw) {
                return draw;
            }
            last = draw;
        }
        last.clamp(self.min, self.max)
    }

    /// The probability of the interval in the untruncated distribution, 0 to 1.
    pub fn share(&self) -> f64 {
        self.below(self.max, 0.0) - self.below(self.min, 0.0)
    }

    /// The mean of the truncated distribution.
    pub fn mean(&self) -> f64 {
        let within = self.below(self.max, self.sigma) - self.below(self.min, self.sigma);
        exp(self.mu + self.sigma * self.sigma / 2.0) * within / self.share()
    }

    /// The probability that a normal variate with mean `mu + by * sigma` is below the logarithm of
    /// `x`.
    fn below(&self, x: f64, by: f64) -> f64 {
        0.5 + 0.5 * erf(((log(x) - self.mu) / self.sigma - by) / sqrt(2.0))
    }
}

impl Pareto {
    /// Draws a number.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        (self.min * pow(1.0 - rng.uniform(), -1.0 / self.shape)).min(self.max)
    }

    /// The mean of the bounded distribution.
    pub fn mean(&self) -> f64 {
        let Self { shape, min, max } = *self;
        let at_bound = max * pow(min / max, shape);
        let below = if (shape - 1.0).abs() < 1e-9 {
            min * log(max / min)
        } else {
            shape * min / (shape - 1.0) * (1.0 - pow(min / max, shape - 1.0))
        };
        below + at_bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_means_are_those_of_the_distributions() {
        let mut rng = Rng::named(1, "heavy tails");
        let draws = 400_000;
        for (mu, sigma, min, max) in
            [(8.37, 1.37, 100.0, 2e6), (14.45, 0.35, 1.0, 5e6), (3.0, 2.0, 10.0, 30.0)]
        {
            let lognormal = Lognormal { mu, sigma, min, max };
            let drawn: Vec<f64> = (0..draws).map(|_| lognormal.draw(&mut rng)).collect();
            assert!(drawn.iter().all(|draw| (min..=max).contains(draw)));
            let mean = drawn.iter().sum::<f64>() / f64::from(draws);
            assert!((mean / lognormal.mean() - 1.0).abs() < 0.015, "{lognormal:?}: {mean}");
        }
        for (shape, min, max) in [(1.2, 40.0, 250.0), (1.1, 2.0, 55.0), (1.0, 1.0, 100.0), (2.5, 3.0, 3.0)] {
            let pareto = Pareto { shape, min, max };
            let drawn: Vec<f64> = (0..draws).map(|_| pareto.draw(&mut rng)).collect();
            assert!(drawn.iter().all(|draw| (min..=max).contains(draw)));
            let mean = drawn.iter().sum::<f64>() / f64::from(draws);
            assert!((mean / pareto.mean() - 1.0).abs() < 0.01, "{pareto:?}: {mean}");
        }
    }

    #[test]
    fn means_are_those_that_the_sources_give() {
        // 3GPP2 C.R1002, for the untruncated distribution: 10,710 octets.
        let main = Lognormal { mu: 8.37, sigma: 1.37, min: 1e-9, max: 1e18 };
        assert!((main.mean() / 10_710.0 - 1.0).abs() < 0.04, "{}", main.mean());
        // The number of a page's embedded objects, 5.64 in the mean, is such a draw minus 2.
        let objects = Pareto { shape: 1.1, min: 2.0, max: 55.0 };
        assert!((objects.mean() - 2.0 - 5.64).abs() < 0.2, "{}", objects.mean());
    }

    #[test]
    fn draws_from_an_unlikely_interval_return_its_nearer_bound() {
        let far = Lognormal { mu: 0.0, sigma: 0.1, min: 1e9, max: 2e9 };
        assert!((far.draw(&mut Rng::named(1, "far")) - 1e9).abs() < 1.0);
        assert!(far.share() < 1e-9);
    }
}
