//! Sessions over several runs.

use serde::Serialize;

use super::{DialogueTotals, Packets, SessionTotals, StreamTotals, Transactions};
use crate::stats::Estimate;

/// All sessions over several runs, by kind; null for a kind that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionEstimates {
    /// Pages.
    pub web: Option<DialogueEstimates>,
    /// Messages.
    pub mail: Option<DialogueEstimates>,
    /// Files.
    pub ftp: Option<DialogueEstimates>,
    /// Calls.
    pub voice: Option<StreamEstimates>,
    /// Videos.
    pub video: Option<StreamEstimates>,
}

/// All sessions of a kind that has transactions, over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DialogueEstimates {
    /// Sum of their goodputs, in bits per second.
    pub goodput_bps: Estimate,
    /// Pages, messages or files that are complete.
    pub completed: Estimate,
    /// Those whose connections failed.
    pub failed: Estimate,
    /// Mean time of one, in seconds; null unless some are complete in every run, as all below.
    pub time_mean_s: Option<Estimate>,
    /// The median of these times, in seconds.
    pub time_median_s: Option<Estimate>,
    /// Their 95th percentile, in seconds.
    pub time_p95_s: Option<Estimate>,
}

/// All calls, or all videos, over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StreamEstimates {
    /// Sum of their goodputs, in bits per second.
    pub goodput_bps: Estimate,
    /// Packets lost, in percent; null unless every run has some that are not on their way any more.
    pub lost_percent: Option<Estimate>,
    /// Packets that came too late to be played, in percent; null likewise.
    pub late_percent: Option<Estimate>,
    /// Mean one-way delay in the network, in seconds; null unless some arrived in every run, as all
    /// below.
    pub delay_mean_s: Option<Estimate>,
    /// The variance of the one-way delays, in seconds squared (10^6 ms²).
    pub delay_variance_s2: Option<Estimate>,
    /// Their 95th percentile, in seconds.
    pub delay_p95_s: Option<Estimate>,
    /// The mean of the streams' interarrival jitters, in seconds.
    pub jitter_s: Option<Estimate>,
    /// The mean of the opinion scores of calls' directions.
    pub mos: Option<Estimate>,
    /// The worst of them.
    pub mos_worst: Option<Estimate>,
}

impl SessionEstimates {
    /// Those of runs; `None` if they have no sessions.
    pub(crate) fn of(runs: &[SessionTotals]) -> Option<Self> {
        (!runs.is_empty()).then(|| Self {
            web: DialogueEstimates::of(runs, |run| run.web),
            mail: DialogueEstimates::of(runs, |run| run.mail),
            ftp: DialogueEstimates::of(runs, |run| run.ftp),
            voice: StreamEstimates::of(runs, |run| run.voice),
            video: StreamEstimates::of(runs, |run| run.video),
        })
    }
}

/// An estimate of what every run has; `None` if one has it not.
fn estimate<T>(runs: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<Estimate> {
    Estimate::of(&runs.iter().map(of).collect::<Option<Vec<f64>>>()?)
}

impl DialogueEstimates {
    fn of(runs: &[SessionTotals], kind: impl Fn(&SessionTotals) -> Option<DialogueTotals>) -> Option<Self> {
        let runs: Vec<DialogueTotals> = runs.iter().map(kind).collect::<Option<_>>()?;
        let of = |of: fn(&Transactions) -> Option<f64>| estimate(&runs, |run| of(&run.summary.transactions));
        Some(Self {
            goodput_bps: estimate(&runs, |run| Some(run.goodput_bps))?,
            completed: of(|all| Some(all.completed as f64))?,
            failed: of(|all| Some(all.failed as f64))?,
            time_mean_s: of(|all| all.time_mean_s),
            time_median_s: of(|all| all.time_median_s),
            time_p95_s: of(|all| all.time_p95_s),
        })
    }
}

impl StreamEstimates {
    fn of(runs: &[SessionTotals], kind: impl Fn(&SessionTotals) -> Option<StreamTotals>) -> Option<Self> {
        let runs: Vec<StreamTotals> = runs.iter().map(kind).collect::<Option<_>>()?;
        let of = |of: fn(&Packets) -> Option<f64>| estimate(&runs, |run| of(&run.packets));
        Some(Self {
            goodput_bps: estimate(&runs, |run| Some(run.goodput_bps))?,
            lost_percent: of(|all| all.lost_percent),
            late_percent: of(|all| all.late_percent),
            delay_mean_s: of(|all| all.delay_mean_s),
            delay_variance_s2: of(|all| all.delay_variance_s2),
            delay_p95_s: of(|all| all.delay_p95_s),
            jitter_s: of(|all| all.jitter_s),
            mos: estimate(&runs, |run| run.mos),
            mos_worst: estimate(&runs, |run| run.mos_worst),
        })
    }
}
