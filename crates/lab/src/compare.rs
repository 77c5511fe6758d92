//! Every scheme of a scenario over all its seeds.

mod flows;

use lasthop_agent::Counter;
use lasthop_agent::counter::{CONTROL_MESSAGES, LOCAL_RETRANSMITS};
use lasthop_scenario::{FlowModel, Scenario};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::agents::AgentLoads;
use crate::progress::Progress;
use crate::run::{RoamingSummary, RunError, RunSummary, run};
use crate::sessions::{SessionEstimates, SessionTotals};
use crate::stats::Estimate;
pub use flows::{DatagramEstimates, SingleFlow, WorstFlow};

/// A scenario's schemes side by side; `lasthop compare --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The seeds; each scheme ran once with each seed.
    pub seeds: Vec<u64>,
    /// Warm-up at the start of each run, in seconds. All figures except completion times are of the
    /// rest, the measured time.
    pub warm_up_s: f64,
    /// The scheme that the others are compared with.
    pub baseline: String,
    /// Whether the seed makes a difference: false if all runs of each scheme are equal.
    pub runs_differ: bool,
    /// One row per scheme, in the scenario's order.
    pub rows: Vec<ComparisonRow>,
}

/// One scheme over all seeds. Counts are means a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// The scheme's label.
    pub scheme: String,
    /// Number of runs.
    pub runs: usize,
    /// Runs in which every flow with a size completed; null if no flow over TCP has a size.
    pub completed: Option<usize>,
    /// Goodput of all flows and sessions over TCP together, in bits per second: their octets over
    /// the time from the start of the first to the end of the last. If there are none, that over
    /// UDP.
    pub goodput_bps: Estimate,
    /// Seconds until the last flow with a size completed, from the start of the first such flow;
    /// null unless all runs completed.
    pub completion_s: Option<Estimate>,
    /// Percentage by which the completion time is below the baseline's. If a run of either did not
    /// complete, the percentage by which the goodput is above the baseline's. Null for the
    /// baseline.
    pub improvement_percent: Option<Estimate>,
    /// Segments that TCP senders retransmitted.
    pub retransmits: Estimate,
    /// Expiries of the TCP senders' retransmission timers.
    pub timeouts: Estimate,
    /// Fast retransmits.
    pub fast_retransmits: Estimate,
    /// Control messages that agents sent.
    pub control_messages: Estimate,
    /// Segments that agents retransmitted.
    pub local_retransmits: Estimate,
    /// Jain's fairness index of the goodputs of these flows and sessions; null if nothing arrived in
    /// a run.
    pub jain_fairness: Option<Estimate>,
    /// Share of the measured time for which stations of 802.11 cells transmitted
    /// ([`crate::run::Aggregate::air_time_share`]); null without a cell.
    pub air_time_share: Option<Estimate>,
    /// Jain's fairness index of the clients' air time ([`crate::run::Aggregate::air_time_fairness`]); null likewise.
    pub air_time_fairness: Option<Estimate>,
    /// Share of the measured time for which a station in power-save mode was awake, as the mean over
    /// all such stations; null without one.
    pub awake_share: Option<Estimate>,
    /// How clients roamed between access points; null where none do.
    pub roaming: Option<RoamingEstimates>,
    /// The goodput of each flow. Flows whose names differ only in a final number (`NAME-1`,
    /// `NAME-2`) share an entry.
    pub flows: Vec<FlowRow>,
    /// Each flow separately, in the scenario's order.
    pub single_flows: Vec<SingleFlow>,
    /// The flow with the lowest `change_percent`; null for the baseline, and if the scenario has a
    /// single flow.
    pub worst_flow: Option<WorstFlow>,
    /// The fate of the datagrams of all flows over UDP; null without such flows.
    pub datagrams: Option<DatagramEstimates>,
    /// All sessions, by kind; null without sessions.
    pub sessions: Option<SessionEstimates>,
    /// Data at risk in agents, and their memory.
    pub agents: AgentLoads,
}

/// The goodput of a flow, or of those of a group of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The name of the flow, or the common part of the names.
    #[serde(rename = "flow")]
    pub name: String,
    /// Number of flows in this entry.
    pub flows: usize,
    /// Mean goodput of one of these flows, in bits per second.
    pub goodput_bps: Estimate,
}

/// How clients roamed between access points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoamingEstimates {
    /// Hand-offs: associations of a client that came from another access point.
    pub hand_offs: Estimate,
    /// The time for which a client had no access point, in seconds: the median of each run; null without a hand-off.
    pub radio_gap_s: Option<Estimate>,
    /// The time from a client's association to the moment at which the agent of the new access point had the state of its
    /// connections, in seconds: the median of each run; null without agents that hand over.
    pub agent_gap_s: Option<Estimate>,
    /// The mean length of a client's state, with the packets in it, in octets; null without agents that hand over.
    pub state_octets: Option<Estimate>,
}

impl RoamingEstimates {
    fn from_runs(runs: &[RunSummary]) -> Option<Self> {
        let runs: Vec<RoamingSummary> = runs.iter().map(|run| run.roaming).collect::<Option<_>>()?;
        // Of the runs that have it.
        let of = |value: fn(&RoamingSummary) -> Option<f64>| {
            Estimate::from_samples(&runs.iter().filter_map(value).collect::<Vec<_>>())
        };
        Some(Self {
            hand_offs: of(|run| Some(run.hand_offs as f64))?,
            radio_gap_s: of(|run| run.radio_gap_s),
            agent_gap_s: of(|run| run.agent_gap_s),
            state_octets: of(|run| run.state_octets),
        })
    }
}

/// Runs every scheme of a scenario under each of its seeds, in parallel.
pub fn compare(scenario: &Scenario, progress: &dyn Progress) -> Result<Comparison, RunError> {
    let grid: Vec<(usize, u64)> = (0..scenario.schemes.len())
        .flat_map(|scheme| scenario.seeds.iter().map(move |seed| (scheme, *seed)))
        .collect();
    // Errors of any scheme are found before the first run.
    scenario.check_all()?;
    progress.expect(grid.len() as u64);
    let runs: Vec<RunSummary> = grid
        .par_iter()
        .map(|(scheme, seed)| {
            let summary = run(scenario, &scenario.schemes[*scheme], *seed, progress)?;
            progress.advance();
            Ok(summary)
        })
        .collect::<Result<_, RunError>>()?;
    let by_scheme: Vec<&[RunSummary]> = runs.chunks(scenario.seeds.len().max(1)).collect();
    let baseline = by_scheme[scenario.baseline];
    let can_complete = scenario.flows.iter().any(FlowModel::can_complete);
    Ok(Comparison {
        scenario: scenario.name.clone(),
        seeds: scenario.seeds.clone(),
        warm_up_s: scenario.warm_up.as_secs_f64(),
        baseline: scenario.schemes[scenario.baseline].label.clone(),
        runs_differ: by_scheme.iter().any(|runs| runs.iter().any(|run| run.differs_from(&runs[0]))),
        rows: by_scheme
            .iter()
            .enumerate()
            .filter_map(|(index, runs)| {
                ComparisonRow::from_runs(runs, (index != scenario.baseline).then_some(baseline), can_complete)
            })
            .collect(),
    })
}

impl ComparisonRow {
    /// Whether a flow or a session goes over TCP.
    pub(crate) fn uses_tcp(&self) -> bool {
        let of_sessions = self.sessions.is_some_and(|all| all.web.or(all.mail).or(all.ftp).is_some());
        of_sessions || self.single_flows.iter().any(|flow| flow.retransmits.is_some())
    }

    /// The row of one scheme's runs; `None` without runs. `baseline` has the runs that they are
    /// compared with; `can_complete` says whether a flow of the scenario can complete.
    fn from_runs(runs: &[RunSummary], baseline: Option<&[RunSummary]>, can_complete: bool) -> Option<Self> {
        let estimate = |of: &dyn Fn(&RunSummary) -> f64| {
            Estimate::from_samples(&runs.iter().map(of).collect::<Vec<_>>())
        };
        let counter = |counter: &Counter| estimate(&|run| run.count(counter) as f64);
        let completions = completions(runs);
        let improvement_percent =
            baseline.and_then(|baseline| match (&completions, self::completions(baseline)) {
                (Some(ours), Some(theirs)) => Estimate::percent_below(ours, &theirs),
                _ => Estimate::percent_above(&goodputs(runs), &goodputs(baseline)),
            });
        let single_flows = SingleFlow::from_runs(runs, baseline);
        Some(Self {
            scheme: runs.first()?.scheme.clone(),
            runs: runs.len(),
            completed: can_complete
                .then(|| runs.iter().filter(|run| run.aggregate.completion_s.is_some()).count()),
            goodput_bps: estimate(&|run| run.aggregate.goodput_bps)?,
            completion_s: completions.as_deref().and_then(Estimate::from_samples),
            improvement_percent,
            retransmits: estimate(&|run| run.aggregate.retransmits as f64)?,
            timeouts: estimate(&|run| run.aggregate.timeouts as f64)?,
            fast_retransmits: estimate(&|run| run.aggregate.fast_retransmits as f64)?,
            control_messages: counter(&CONTROL_MESSAGES)?,
            local_retransmits: counter(&LOCAL_RETRANSMITS)?,
            jain_fairness: runs
                .iter()
                .map(|run| run.aggregate.jain_fairness)
                .collect::<Option<Vec<f64>>>()
                .and_then(|indices| Estimate::from_samples(&indices)),
            datagrams: datagrams(runs),
            sessions: runs
                .iter()
                .map(|run| run.aggregate.sessions)
                .collect::<Option<Vec<SessionTotals>>>()
                .and_then(|runs| SessionEstimates::from_runs(&runs)),
            air_time_share: runs
                .iter()
                .map(|run| run.aggregate.air_time_share)
                .collect::<Option<Vec<f64>>>()
                .and_then(|shares| Estimate::from_samples(&shares)),
            air_time_fairness: runs
                .iter()
                .map(|run| run.aggregate.air_time_fairness)
                .collect::<Option<Vec<f64>>>()
                .and_then(|indices| Estimate::from_samples(&indices)),
            awake_share: runs
                .iter()
                .map(RunSummary::awake_share)
                .collect::<Option<Vec<f64>>>()
                .and_then(|shares| Estimate::from_samples(&shares)),
            roaming: RoamingEstimates::from_runs(runs),
            flows: flow_rows(runs),
            worst_flow: WorstFlow::from_flows(&single_flows),
            single_flows,
            agents: AgentLoads::from_runs(&runs.iter().map(|run| run.agents).collect::<Vec<_>>())?,
        })
    }
}

/// The datagrams of all flows over UDP; `None` without such flows.
fn datagrams(runs: &[RunSummary]) -> Option<DatagramEstimates> {
    let runs = runs.iter().map(|run| Some((run.aggregate.udp_goodput_bps?, run.aggregate.datagrams?)));
    DatagramEstimates::from_runs(&runs.collect::<Option<Vec<_>>>()?)
}

fn flow_rows(runs: &[RunSummary]) -> Vec<FlowRow> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for flow in runs.first().map_or(&[][..], |run| &run.flows) {
        match names.iter_mut().find(|(name, _)| *name == stem(&flow.name)) {
            Some((_, flows)) => *flows += 1,
            None => names.push((stem(&flow.name), 1)),
        }
    }
    let mean = |run: &RunSummary, name: &str, flows: usize| {
        let of_it = run.flows.iter().filter(|flow| stem(&flow.name) == name);
        of_it.map(|flow| flow.goodput_bps).sum::<f64>() / flows as f64
    };
    let row = |(name, flows): (&str, usize)| {
        let goodputs: Vec<f64> = runs.iter().map(|run| mean(run, name, flows)).collect();
        Estimate::from_samples(&goodputs).map(|goodput_bps| FlowRow {
            name: name.to_owned(),
            flows,
            goodput_bps,
        })
    };
    names.into_iter().filter_map(row).collect()
}

/// A flow's name without the number that a group of nodes gives it.
fn stem(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// Completion times, if all runs completed.
pub(crate) fn completions(runs: &[RunSummary]) -> Option<Vec<f64>> {
    runs.iter().map(|run| run.aggregate.completion_s).collect()
}

fn goodputs(runs: &[RunSummary]) -> Vec<f64> {
    runs.iter().map(|run| run.aggregate.goodput_bps).collect()
}
