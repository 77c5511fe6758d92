//! The flows of a comparison, one by one, and the fate of datagrams over all seeds.

use serde::{Deserialize, Serialize};

use crate::run::{Datagrams, FlowSummary, RunSummary};
use crate::stats::Estimate;

/// One flow under one scheme, over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleFlow {
    /// The flow's name.
    #[serde(rename = "flow")]
    pub name: String,
    /// "tcp" or "udp".
    pub transport: String,
    /// Goodput in bits per second.
    pub goodput_bps: Estimate,
    /// Percentage by which the goodput is above the baseline's; null for the baseline, and if the
    /// baseline's goodput is zero.
    pub change_percent: Option<Estimate>,
    /// Seconds from the flow's start to its last octet; null unless the flow completed in every
    /// run.
    pub completion_s: Option<Estimate>,
    /// Retransmitted segments; null over UDP, like the next three.
    pub retransmits: Option<Estimate>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<Estimate>,
    /// Fast retransmits.
    pub fast_retransmits: Option<Estimate>,
    /// Mean of the round-trip times that the sender measured, in seconds.
    pub rtt_mean_s: Option<Estimate>,
    /// The fate of its datagrams; null over TCP.
    pub datagrams: Option<DatagramEstimates>,
}

/// The flow that a scheme harms most, or helps least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstFlow {
    /// The flow's name.
    #[serde(rename = "flow")]
    pub name: String,
    /// The flow's goodput, in bits per second.
    pub goodput_bps: Estimate,
    /// Percentage by which the goodput is above the baseline's.
    pub change_percent: Estimate,
}

impl SingleFlow {
    /// The flows of a scheme's runs, in the scenario's order.
    pub(super) fn from_runs(runs: &[RunSummary], baseline: Option<&[RunSummary]>) -> Vec<Self> {
        let flows = runs.first().map_or(0, |run| run.flows.len());
        (0..flows).filter_map(|place| Self::at(place, runs, baseline)).collect()
    }

    fn at(place: usize, runs: &[RunSummary], baseline: Option<&[RunSummary]>) -> Option<Self> {
        let flows = |runs: &'_ [RunSummary]| -> Option<Vec<FlowSummary>> {
            runs.iter().map(|run| run.flows.get(place).cloned()).collect()
        };
        let goodputs = |flows: &[FlowSummary]| flows.iter().map(|flow| flow.goodput_bps).collect::<Vec<_>>();
        let flows_here = flows(runs)?;
        let estimate = |of: fn(&FlowSummary) -> Option<f64>| {
            Estimate::from_samples(&flows_here.iter().map(of).collect::<Option<Vec<_>>>()?)
        };
        let change_percent = baseline
            .and_then(flows)
            .and_then(|baseline| Estimate::percent_above(&goodputs(&flows_here), &goodputs(&baseline)));
        let first = flows_here.first()?;
        let datagrams = flows_here.iter().map(|flow| Some((flow.goodput_bps, flow.datagrams?)));
        Some(Self {
            name: first.name.clone(),
            transport: first.transport.clone(),
            goodput_bps: estimate(|flow| Some(flow.goodput_bps))?,
            change_percent,
            completion_s: estimate(|flow| flow.completion_s),
            retransmits: estimate(|flow| Some(flow.retransmits? as f64)),
            timeouts: estimate(|flow| Some(flow.timeouts? as f64)),
            fast_retransmits: estimate(|flow| Some(flow.fast_retransmits? as f64)),
            rtt_mean_s: estimate(|flow| flow.rtt_mean_s),
            datagrams: datagrams
                .collect::<Option<Vec<_>>>()
                .and_then(|datagrams| DatagramEstimates::from_runs(&datagrams)),
        })
    }
}

impl WorstFlow {
    /// The flow with the lowest change of goodput; `None` for a single flow, and if no flow can be
    /// compared.
    pub(super) fn from_flows(flows: &[SingleFlow]) -> Option<Self> {
        let changes = flows.iter().filter_map(|flow| Some((flow, flow.change_percent?)));
        let (flow, change_percent) = changes
            .min_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean))
            .filter(|_| flows.len() > 1)?;
        Some(Self { name: flow.name.clone(), goodput_bps: flow.goodput_bps, change_percent })
    }

    /// Whether the loss is significant: more than half the width of the confidence interval; for a
    /// single run, which has no interval, more than one percent.
    pub fn is_significant_loss(&self) -> bool {
        let Estimate { mean, ci95 } = self.change_percent;
        -mean > ci95.unwrap_or(1.0)
    }
}

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
    /// Median of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_median_s: Option<Estimate>,
    /// 95th percentile of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_p95_s: Option<Estimate>,
    /// Interarrival jitter, in seconds; for several flows, that of the worst.
    pub jitter_s: Option<Estimate>,
}

impl DatagramEstimates {
    /// The estimates from the goodput and the datagrams of each run; `None` without runs.
    pub(super) fn from_runs(runs: &[(f64, Datagrams)]) -> Option<Self> {
        let estimate = |of: fn(&Datagrams) -> Option<f64>| {
            Estimate::from_samples(
                &runs.iter().map(|(_, datagrams)| of(datagrams)).collect::<Option<Vec<_>>>()?,
            )
        };
        Some(Self {
            goodput_bps: Estimate::from_samples(
                &runs.iter().map(|(goodput, _)| *goodput).collect::<Vec<_>>(),
            )?,
            lost_percent: estimate(Datagrams::lost_percent),
            delay_mean_s: estimate(|all| all.delay_mean_s),
            delay_median_s: estimate(|all| all.delay_median_s),
            delay_p95_s: estimate(|all| all.delay_p95_s),
            jitter_s: estimate(|all| all.jitter_s),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str, change: Option<f64>) -> SingleFlow {
        let estimate = |mean| Estimate { mean, ci95: None };
        SingleFlow {
            name: name.to_owned(),
            transport: "tcp".to_owned(),
            goodput_bps: estimate(1e6),
            change_percent: change.map(estimate),
            completion_s: None,
            retransmits: None,
            timeouts: None,
            fast_retransmits: None,
            rtt_mean_s: None,
            datagrams: None,
        }
    }

    #[test]
    fn the_worst_flow_is_the_one_that_lost_most_or_gained_least() {
        let worst = |flows: &[SingleFlow]| {
            WorstFlow::from_flows(flows).map(|worst| (worst.name.clone(), worst.is_significant_loss()))
        };
        let flows = [flow("a", Some(80.0)), flow("b", Some(-30.0)), flow("c", None)];
        assert_eq!(worst(&flows), Some(("b".to_owned(), true)));
        assert_eq!(worst(&[flow("a", Some(80.0)), flow("b", Some(0.5))]), Some(("b".to_owned(), false)));
        assert_eq!(worst(&[flow("a", Some(-80.0))]), None, "one flow alone is the headline");
        assert_eq!(worst(&[flow("a", None), flow("b", None)]), None);
    }

    #[test]
    fn a_loss_within_the_confidence_interval_is_not_significant() {
        let interval = |mean, ci95| WorstFlow {
            name: "a".to_owned(),
            goodput_bps: Estimate { mean: 1.0, ci95: None },
            change_percent: Estimate { mean, ci95 },
        };
        let lost = [(-5.0, Some(6.0)), (-5.0, Some(4.0)), (-0.5, None)];
        let verdicts = lost.map(|(mean, ci95)| interval(mean, ci95).is_significant_loss());
        assert_eq!(verdicts, [false, true, false]);
    }
}
