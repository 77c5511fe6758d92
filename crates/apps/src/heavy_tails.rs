//! Distributions with heavy tails that are cut off: sizes of files, and of what is in them.

use lasthop_packet::Rng;
use libm::{erf, exp, log, pow, sqrt};

/// A lognormal distribution of which only what lies between two bounds is drawn: what lies outside
/// is drawn again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// Mean of the logarithm.
    pub mu: f64,
    /// Standard deviation of the logarithm, above zero.
    pub sigma: f64,
    /// The least that is drawn, above zero.
    pub min: f64,
    /// The most that is drawn, not below `min`.
    pub max: f64,
}

/// A Pareto distribution up to a bound: what would lie above it is the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The shape, above zero: the smaller, the heavier the tail.
    pub shape: f64,
    /// The least that is drawn, above zero.
    pub min: f64,
    /// The most that is drawn, not below `min`.
    pub max: f64,
}

/// Draws before something between bounds that are nearly never met is taken for the nearer bound.
const MOST_DRAWS: u32 = 10_000;

impl Lognormal {
    /// A draw.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        let draws = (0..MOST_DRAWS).map(|_| exp(self.mu + self.sigma * rng.normal()));
        let mut last = self.min;
        for draw in draws {
            if (self.min..=self.max).contains(&draw) {
                return draw;
            }
            last = draw;
        }
        last.clamp(self.min, self.max)
    }

    /// The part of the whole distribution that lies between the bounds, 0 to 1.
    pub fn share(&self) -> f64 {
        self.below(self.max, 0.0) - self.below(self.min, 0.0)
    }

    /// The mean of what is drawn.
    pub fn mean(&self) -> f64 {
        let within = self.below(self.max, self.sigma) - self.below(self.min, self.sigma);
        exp(self.mu + self.sigma * self.sigma / 2.0) * within / self.share()
    }

    /// The part of a normal distribution, moved up by `by`, below the logarithm of `x`.
    fn below(&self, x: f64, by: f64) -> f64 {
        0.5 + 0.5 * erf(((log(x) - self.mu) / self.sigma - by) / sqrt(2.0))
    }
}

impl Pareto {
    /// A draw.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        (self.min * pow(1.0 - rng.uniform(), -1.0 / self.shape)).min(self.max)
    }

    /// The mean of what is drawn.
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
        // 3GPP2 C.R1002, of the whole distribution: 10,710 octets.
        let main = Lognormal { mu: 8.37, sigma: 1.37, min: 1e-9, max: 1e18 };
        assert!((main.mean() / 10_710.0 - 1.0).abs() < 0.04, "{}", main.mean());
        // A page's embedded objects, 5.64 in the mean, are such a number less 2.
        let objects = Pareto { shape: 1.1, min: 2.0, max: 55.0 };
        assert!((objects.mean() - 2.0 - 5.64).abs() < 0.2, "{}", objects.mean());
    }

    #[test]
    fn bounds_that_are_nearly_never_met_are_drawn_all_the_same() {
        let far = Lognormal { mu: 0.0, sigma: 0.1, min: 1e9, max: 2e9 };
        assert!((far.draw(&mut Rng::named(1, "far")) - 1e9).abs() < 1.0);
        assert!(far.share() < 1e-9);
    }
}
