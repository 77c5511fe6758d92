//! Means, confidence intervals, ratios.

use lasthop_sim::Measured;
use serde::{Deserialize, Serialize};

/// A mean over runs with the half-width of its 95% confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the runs.
    pub mean: f64,
    /// Half the width of the 95% confidence interval; `None` with fewer than two runs.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// The mean of samples; `None` without any.
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let mean = mean(samples);
        Some(Self { mean, ci95: half_width(samples.iter().map(|sample| sample - mean), samples.len()) })
    }

    /// The percentage by which the mean of `samples` is below the mean of `baseline`; both have the
    /// same seeds in the same order. The interval is that of a ratio estimator. `None` unless both have
    /// the same number of runs and the baseline is not zero.
    pub fn percent_below(samples: &[f64], baseline: &[f64]) -> Option<Self> {
        if samples.len() != baseline.len() || samples.is_empty() {
            return None;
        }
        let reference = mean(baseline);
        if reference == 0.0 {
            return None;
        }
        let ratio = mean(samples) / reference;
        let residuals =
            samples.iter().zip(baseline).map(|(sample, base)| (sample - ratio * base) / reference * 100.0);
        Some(Self { mean: (1.0 - ratio) * 100.0, ci95: half_width(residuals, samples.len()) })
    }

    /// The percentage by which the mean of `samples` is above the mean of `baseline`; see
    /// [`Estimate::percent_below`].
    pub fn percent_above(samples: &[f64], baseline: &[f64]) -> Option<Self> {
        // A difference, since the negative of zero would be printed as "-0".
        Self::percent_below(samples, baseline).map(|below| Self { mean: 0.0 - below.mean, ci95: below.ci95 })
    }
}

/// The half-width of the 95% interval of a mean, from the deviations of its samples.
fn half_width(deviations: impl Iterator<Item = f64>, runs: usize) -> Option<f64> {
    if runs < 2 {
        return None;
    }
    let variance = deviations.map(|deviation| deviation * deviation).sum::<f64>() / (runs - 1) as f64;
    Some(student_t_975(runs - 1) * libm::sqrt(variance / runs as f64))
}

/// The median of samples: of an even number, the mean of the middle two; `None` without any.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, sorted[middle])),
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// The 97.5% quantile of Student's t distribution.
fn student_t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees - 1],
        // Cornish-Fisher around the normal quantile: three decimals from 30 degrees on.
        _ => {
            let z = 1.959_964;
            let n = degrees as f64;
            z + (z * z * z + z) / (4.0 * n)
                + (5.0 * z * z * z * z * z + 16.0 * z * z * z + 3.0 * z) / (96.0 * n * n)
        }
    }
}

/// Jain's fairness index: 1 if all shares are equal, 1/n if all but one are zero; `None` if all are.
pub fn jain_fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The goodput of several flows together, in bits per second: all octets over the time from the start
/// of the first flow to the end of the last. A sum of their goodputs could exceed the rate of the link
/// if the flows do not last equally long.
pub fn rate_bps(flows: impl Iterator<Item = (u64, Measured)>) -> f64 {
    let all = flows.reduce(|(octets, measured), (more, later)| (octets + more, measured.hull(later)));
    all.map_or(0.0, |(octets, measured)| measured.rate_bps(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_students() {
        let estimate = Estimate::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("samples");
        assert!((estimate.mean - 3.0).abs() < 1e-12);
        assert!((estimate.ci95.expect("five runs") - 2.776 * (2.5f64 / 5.0).sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::from_samples(&[7.0]), Some(Estimate { mean: 7.0, ci95: None }));
        assert_eq!(Estimate::from_samples(&[]), None);
        assert!((student_t_975(31) - 2.0395).abs() < 1e-3 && (student_t_975(1000) - 1.9623).abs() < 1e-3);
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }

    #[test]
    fn an_improvement_that_is_the_same_in_every_run_has_no_width() {
        let base = [100.0, 200.0, 150.0];
        let less: Vec<f64> = base.iter().map(|base| base * 0.8).collect();
        let estimate = Estimate::percent_below(&less, &base).expect("paired");
        assert!((estimate.mean - 20.0).abs() < 1e-9 && estimate.ci95.expect("three runs") < 1e-9);
        assert_eq!(Estimate::percent_above(&less, &base).map(|e| e.mean.round()), Some(-20.0));
        assert_eq!(Estimate::percent_above(&base, &base).map(|e| e.mean.to_string()), Some("0".to_owned()));
        assert_eq!(Estimate::percent_below(&less, &base[..2]), None);
        assert_eq!(Estimate::percent_below(&[1.0], &[0.0]), None);
    }

    #[test]
    fn fairness_lies_between_one_share_and_equal_shares() {
        let index = |shares: &[f64]| jain_fairness(shares).expect("there is something to share");
        assert!((index(&[5.0, 5.0, 5.0]) - 1.0).abs() < 1e-12);
        assert!((index(&[9.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((jain_fairness(&[]), jain_fairness(&[0.0, 0.0])), (None, None));
    }
}
