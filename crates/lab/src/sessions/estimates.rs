//! Sessions over several runs.

use serde::{Deserialize, Serialize};

use super::{DialogueTotals, Packets, SessionTotals, StreamTotals, Transactions};
use crate::stats::Estimate;

/// All sessions over several runs, by kind; null for a kind that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogueEstimates {
    /// Sum of the goodputs of these sessions, in bits per second.
    pub goodput_bps: Estimate,
    /// Pages, messages or files that are complete.
    pub completed: Estimate,
    /// Pages, messages or files whose connections failed.
    pub failed: Estimate,
    /// Mean time from the first SYN or request to the last octet, in seconds; null unless every run
    /// completed one, like the next two.
    pub time_mean_s: Option<Estimate>,
    /// Median of these times, in seconds.
    pub time_median_s: Option<Estimate>,
    /// 95th percentile of these times, in seconds.
    pub time_p95_s: Option<Estimate>,
}

/// All calls, or all videos, over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamEstimates {
    /// Sum of the goodputs of these sessions, in bits per second.
    pub goodput_bps: Estimate,
    /// Lost packets in percent of all packets that arrived or were lost; null if a run has none.
    pub lost_percent: Option<Estimate>,
    /// Packets that arrived too late for playout, in percent of the same packets; null likewise.
    pub late_percent: Option<Estimate>,
    /// Mean one-way delay in the network, in seconds; null unless packets arrived in every run,
    /// like the next three.
    pub delay_mean_s: Option<Estimate>,
    /// Variance of the one-way delay, in seconds squared (1 s² is 10^6 ms²).
    pub delay_variance_s2: Option<Estimate>,
    /// 95th percentile of the one-way delay, in seconds.
    pub delay_p95_s: Option<Estimate>,
    /// Interarrival jitter, in seconds; the mean over the streams.
    pub jitter_s: Option<Estimate>,
    /// Mean opinion score over all directions of calls; null for videos, and if no direction has a
    /// score.
    pub mos: Option<Estimate>,
    /// Lowest opinion score of a direction; null likewise.
    pub mos_worst: Option<Estimate>,
}

impl SessionEstimates {
    /// Those of runs; `None` if they have no sessions.
    pub(crate) fn from_runs(runs: &[SessionTotals]) -> Option<Self> {
        (!runs.is_empty()).then(|| Self {
            web: DialogueEstimates::from_runs(runs, |run| run.web),
            mail: DialogueEstimates::from_runs(runs, |run| run.mail),
            ftp: DialogueEstimates::from_runs(runs, |run| run.ftp),
            voice: StreamEstimates::from_runs(runs, |run| run.voice),
            video: StreamEstimates::from_runs(runs, |run| run.video),
        })
    }
}

/// An estimate of what every run has; `None` if one has it not.
fn estimate<T>(runs: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<Estimate> {
    Estimate::from_samples(&runs.iter().map(of).collect::<Option<Vec<f64>>>()?)
}

impl DialogueEstimates {
    fn from_runs(
        runs: &[SessionTotals],
        kind: impl Fn(&SessionTotals) -> Option<DialogueTotals>,
    ) -> Option<Self> {
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
    fn from_runs(
        runs: &[SessionTotals],
        kind: impl Fn(&SessionTotals) -> Option<StreamTotals>,
    ) -> Option<Self> {
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
