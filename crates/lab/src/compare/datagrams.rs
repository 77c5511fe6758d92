//! The fate of datagrams over all seeds.

use serde::{Deserialize, Serialize};

use crate::run::Datagrams;
use crate::stats::Estimate;

/// What became of the datagrams of a flow over UDP, or of all such flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramEstimates {
    /// Goodput in bits per second; for several flows, the sum.
    pub goodput_bps: Estimate,
    /// Lost datagrams in percent of all that arrived or were lost; null if a run has none.
    pub lost_percent: Option<Estimate>,
    /// Mean one-way delay, in seconds; null unless datagrams arrived in every run, like the next
    /// two.
    pub delay_mean_s: Option<Estimate>,
    /// 95th percentile of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_p95_s: Option<Estimate>,
    /// Interarrival jitter, in seconds; for several flows, that of the worst.
    pub jitter_s: Option<Estimate>,
}

impl DatagramEstimates {
    /// The estimates from the goodput and the datagrams of each run; `None` without runs.
    pub(super) fn of(runs: &[(f64, Datagrams)]) -> Option<Self> {
        let estimate = |of: fn(&Datagrams) -> Option<f64>| {
            Estimate::of(&runs.iter().map(|(_, datagrams)| of(datagrams)).collect::<Option<Vec<_>>>()?)
        };
        Some(Self {
            goodput_bps: Estimate::of(&runs.iter().map(|(goodput, _)| *goodput).collect::<Vec<_>>())?,
            lost_percent: estimate(Datagrams::lost_percent),
            delay_mean_s: estimate(|all| all.delay_mean_s),
            delay_p95_s: estimate(|all| all.delay_p95_s),
            jitter_s: estimate(|all| all.jitter_s),
        })
    }
}
