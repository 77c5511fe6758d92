//! Distributions of the sizes of objects, messages and files.

use std::sync::Arc;

use lasthop_packet::Rng;
use libm::{exp, log};

use crate::heavy_tails::{Lognormal, Pareto};

/// A distribution of a size in octets. Draws are at least 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A constant.
    Fixed(u64),
    /// Lognormal between two bounds.
    Lognormal(Lognormal),
    /// Pareto up to a bound.
    Pareto(Pareto),
    /// A measured distribution.
    Measured(Measured),
}

/// A measured cumulative distribution. Between its points the logarithm of the size is uniform.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    min: f64,
    /// Cumulative fractions, increasing up to 1, and the sizes below which they are.
    steps: Arc<[(f64, f64)]>,
}

impl Measured {
    /// Creates a distribution. Each step is a cumulative fraction, 0 to 1, and the size below which
    /// it is; `min` is the minimum. `None` unless there is a step, both columns increase, sizes
    /// are above zero, and the last fraction is 1.
    pub fn new(min: f64, steps: Vec<(f64, f64)>) -> Option<Self> {
        let mut before = (0.0, min);
        for step in &steps {
            if !(step.0 > before.0 && step.1 >= before.1) {
                return None;
            }
            before = *step;
        }
        let is_whole = (before.0 - 1.0).abs() < 1e-9 && before.1.is_finite() && min > 0.0;
        is_whole.then(|| Self { min, steps: steps.into() })
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        let part = rng.uniform();
        let mut from = (0.0, self.min);
        for &to in self.steps.iter() {
            if part < to.0 {
                let within = (part - from.0) / (to.0 - from.0);
                return exp(log(from.1) + within * (log(to.1) - log(from.1)));
            }
            from = to;
        }
        from.1
    }

    fn mean(&self) -> f64 {
        let mut from = (0.0, self.min);
        let mut mean = 0.0;
        for &to in self.steps.iter() {
            // The mean of a size whose logarithm is uniform.
            let ratio = log(to.1 / from.1);
            let of_step = if ratio > 1e-9 { (to.1 - from.1) / ratio } else { to.1 };
            mean += (to.0 - from.0) * of_step;
            from = to;
        }
        mean
    }
}

impl Size {
    /// Draws a size, in octets.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let drawn = match self {
            Self::Fixed(octets) => return (*octets).max(1),
            Self::Lognormal(lognormal) => lognormal.draw(rng),
            Self::Pareto(pareto) => pareto.draw(rng),
            Self::Measured(measured) => measured.draw(rng),
        };
        drawn.round().max(1.0) as u64
    }

    /// The mean, in octets.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(octets) => *octets as f64,
            Self::Lognormal(lognormal) => lognormal.mean(),
            Self::Pareto(pareto) => pareto.mean(),
            Self::Measured(measured) => measured.mean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_from_a_measured_distribution_have_its_fractions_and_its_mean() {
        let measured =
            Measured::new(1000.0, vec![(0.25, 2000.0), (0.9, 8000.0), (1.0, 1e6)]).expect("rising");
        let size = Size::Measured(measured);
        let mut rng = Rng::named(1, "size");
        let drawn: Vec<u64> = (0..200_000).map(|_| size.draw(&mut rng)).collect();
        let below = |bound| drawn.iter().filter(|size| **size < bound).count() as f64 / 2e5;
        assert!(
            below(1000) == 0.0 && (below(2000) - 0.25).abs() < 0.005 && (below(8000) - 0.9).abs() < 0.004
        );
        let mean = drawn.iter().sum::<u64>() as f64 / 2e5;
        assert!((mean / size.mean() - 1.0).abs() < 0.02, "{mean} {}", size.mean());
    }

    #[test]
    fn steps_that_are_not_a_distribution_are_refused() {
        for (min, steps) in [
            (1.0, vec![]),
            (0.0, vec![(1.0, 5.0)]),
            (1.0, vec![(0.5, 5.0)]),
            (1.0, vec![(0.5, 5.0), (0.4, 6.0), (1.0, 7.0)]),
            (9.0, vec![(1.0, 5.0)]),
            (1.0, vec![(1.0, f64::INFINITY)]),
            (1.0, vec![(f64::NAN, 2.0), (1.0, 5.0)]),
        ] {
            assert_eq!(Measured::new(min, steps.clone()), None, "{min} {steps:?}");
        }
    }
}
