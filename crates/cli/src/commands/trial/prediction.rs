//! `--predict`: the simulator's predictions for the runs of a trial, without the runs.

use std::sync::atomic::AtomicBool;

use lasthop_lab::stats::{Estimate, median};
use lasthop_lab::table::{self, Table};
use lasthop_linux::results::ResultFile;
use lasthop_scenario::Scenario;
use lasthop_trial::plan::{self, Case};
use lasthop_trial::prediction::{self, predict};
use lasthop_trial::sample::Sample;
use lasthop_trial::session::SessionFigures;
use serde::Serialize;

use super::doubts::Notes;
use super::fairness::{self, Fairness, Shared};
use super::rows::{grouped, mbps, mean_mbps, number, with_endpoints};
use super::runs::{self, Runs};
use super::series::{self, Series};
use super::sessions::{self, Entry, SessionRow};
use crate::failure::Failure;
use crate::output;

pub(super) fn execute(
    scenario: &Scenario,
    title: &str,
    jobs: usize,
    series: Option<ResultFile>,
    json: bool,
) -> Result<(), Failure> {
    let sample_every = series.as_ref().map(|_| series::EVERY);
    let run = |case: &Case| {
        let predicted = predict(scenario, case, sample_every)?;
        Ok(RunPrediction::new(case, predicted))
    };
    let Runs { done, failed } = runs::all(&plan::cases(scenario), jobs, &AtomicBool::new(false), run);
    if let Some(error) = failed {
        return Err(Failure::Run(error.into()));
    }
    let (mut runs, mut session_runs) = (Vec::new(), Vec::new());
    for RunPrediction { flows, sessions } in done {
        runs.extend(flows);
        session_runs.extend(sessions);
    }
    if let Some(file) = series {
        series::write(file, runs.iter().map(Prediction::series))?;
    }
    let report = Report::new(scenario, runs, session_runs);
    if json {
        return output::print_json(&report);
    }
    output::print(&format!(
        "{}\n{}\n{}",
        table::paragraph(title),
        report.table(),
        table::paragraph(&report.remarks())
    ))
}

/// One simulated run.
struct RunPrediction {
    flows: Vec<Prediction>,
    sessions: Vec<SessionPrediction>,
}

/// One session in one simulated run.
#[derive(Serialize)]
struct SessionPrediction {
    session: String,
    kind: &'static str,
    /// The congestion control of both hosts; `None` for a call or a video.
    congestion: Option<String>,
    scheme: String,
    seed: u64,
    beside: Vec<String>,
    controls: Vec<String>,
    /// Figures of the simulator; `None` for a congestion control that it does not have.
    predicted: Option<SessionFigures>,
}

/// One flow in one simulated run.
#[derive(Serialize)]
struct Prediction {
    flow: String,
    congestion: String,
    scheme: String,
    seed: u64,
    /// Goodput in bits per second; `None` for a congestion control that the simulator does not
    /// have.
    predicted_goodput_bps: Option<f64>,
    /// Share of the goodput of all flows in the run.
    #[serde(rename = "predicted_goodput_share")]
    predicted_share: Option<f64>,
    /// Share of the run for which the flow's host was awake; `None` if it is not in power-save
    /// mode.
    predicted_awake_share: Option<f64>,
    #[serde(skip)]
    series: Vec<Sample>,
}

impl RunPrediction {
    fn new(case: &Case, predicted: Option<prediction::Prediction>) -> Self {
        let (flows, sessions) =
            predicted.map(|predicted| (predicted.flows, predicted.sessions)).unwrap_or_default();
        let (mut of_flows, mut of_sessions) = (flows.into_iter(), sessions.into_iter());
        let flows = case.flows.iter().map(|flow| {
            let predicted = of_flows.next();
            Prediction {
                flow: flow.name.clone(),
                congestion: flow.congestion.clone(),
                scheme: case.scheme.clone(),
                seed: case.seed,
                predicted_goodput_bps: predicted.as_ref().map(|flow| flow.goodput_bps),
                predicted_share: predicted.as_ref().map(|flow| flow.share),
                predicted_awake_share: predicted.as_ref().and_then(|flow| flow.awake_share),
                series: predicted.map(|flow| flow.series).unwrap_or_default(),
            }
        });
        let sessions = case.sessions.iter().map(|session| SessionPrediction {
            session: session.name.clone(),
            kind: session.kind,
            congestion: session.congestion.clone(),
            scheme: case.scheme.clone(),
            seed: case.seed,
            beside: case.flows.iter().map(|flow| flow.name.clone()).collect(),
            controls: case.congestion().cloned().collect(),
            predicted: of_sessions.next(),
        });
        Self { flows: flows.collect(), sessions: sessions.collect() }
    }
}

impl SessionPrediction {
    fn entry(&self) -> Entry<'_> {
        Entry {
            session: &self.session,
            kind: self.kind,
            congestion: self.congestion.as_deref(),
            scheme: &self.scheme,
            beside: &self.beside,
            controls: &self.controls,
            real: None,
            predicted: self.predicted.as_ref(),
            seed: self.seed,
            kernel: None,
            because: &[],
        }
    }
}

impl Prediction {
    fn series(&self) -> Series<'_> {
        Series {
            flow: &self.flow,
            congestion: &self.congestion,
            scheme: &self.scheme,
            seed: self.seed,
            source: "predicted",
            samples: &self.series,
        }
    }
}

/// The document that `--predict --json` prints.
#[derive(Serialize)]
struct Report {
    /// The scenario's name.
    scenario: String,
    /// The seeds; each row has one run with each seed.
    seeds: Vec<u64>,
    /// Schemes with a part in TCP endpoints. The kernel's TCP does not have it; the simulator's
    /// does.
    with_endpoints: Vec<String>,
    /// One row for each flow, congestion control and scheme.
    rows: Vec<Row>,
    /// Fairness between flows that run together; empty if flows run one at a time.
    fairness: Vec<Fairness>,
    /// One entry for each flow of each run.
    runs: Vec<Prediction>,
    /// One row for each session, congestion control and scheme.
    sessions: Vec<SessionRow>,
    /// One entry for each session of each run.
    session_runs: Vec<SessionPrediction>,
}

/// One flow over the seeds.
#[derive(Serialize)]
struct Row {
    flow: String,
    congestion: String,
    scheme: String,
    /// Median goodput of the runs, in bits per second; `None` for a congestion control that the
    /// simulator does not have.
    predicted_goodput_bps: Option<f64>,
    /// Mean goodput of the runs, in bits per second.
    #[serde(rename = "predicted_goodput_mean_bps")]
    predicted_mean: Option<Estimate>,
    /// Median share of the goodput of all flows in the run.
    #[serde(rename = "predicted_goodput_share")]
    predicted_share: Option<f64>,
    /// Median share of the run for which the flow's host was awake; `None` if it is not in
    /// power-save mode.
    predicted_awake_share: Option<f64>,
}

impl Report {
    fn new(scenario: &Scenario, runs: Vec<Prediction>, session_runs: Vec<SessionPrediction>) -> Self {
        let rows = grouped(&runs, |run| (run.flow.clone(), run.congestion.clone(), run.scheme.clone()));
        let rows = rows.iter().map(|runs| Row::new(runs)).collect();
        let shared: Vec<Shared> = if scenario.trial.together {
            let of_runs = runs.chunk_by(|one, other| (one.seed, &one.scheme) == (other.seed, &other.scheme));
            let shared = of_runs.map(|flows| Shared {
                scheme: flows[0].scheme.clone(),
                kernel: None,
                goodputs: None,
                predicted: flows.iter().map(|flow| flow.predicted_goodput_bps).collect(),
            });
            shared.collect()
        } else {
            Vec::new()
        };
        Self {
            scenario: scenario.name.clone(),
            seeds: scenario.seeds.clone(),
            with_endpoints: with_endpoints(scenario),
            rows,
            fairness: fairness::of_runs(&shared),
            runs,
            sessions: sessions::rows(&session_runs.iter().map(SessionPrediction::entry).collect::<Vec<_>>()),
            session_runs,
        }
    }

    /// The table of the flows, and those of the sessions.
    fn table(&self) -> String {
        let flows = (!self.rows.is_empty()).then(|| self.flows());
        flows
            .into_iter()
            .chain(sessions::tables(&self.sessions, &Notes::default()))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn flows(&self) -> String {
        let together = !self.fairness.is_empty();
        let mut header = vec!["flow", "TCP", "scheme", "predicted Mbit/s", "mean Mbit/s"];
        header.extend(together.then_some("share %"));
        let dozes = self.rows.iter().any(|row| row.predicted_awake_share.is_some());
        header.extend(dozes.then_some("awake %"));
        let mut table = Table::with_numbers(&header).with_labels(3);
        for row in &self.rows {
            let mut cells = vec![row.flow.clone(), row.congestion.clone(), row.scheme.clone()];
            cells.push(mbps(row.predicted_goodput_bps));
            cells.push(row.predicted_mean.map_or_else(|| "-".to_owned(), mean_mbps));
            let percent = |share: Option<f64>| number(share.map(|share| share * 100.0), 1);
            cells.extend(together.then(|| percent(row.predicted_share)));
            cells.extend(dozes.then(|| percent(row.predicted_awake_share)));
            table.add_row(cells);
        }
        table.to_string()
    }

    fn remarks(&self) -> String {
        let seeds = self.seeds.len();
        let mut lines = vec![format!(
            "the simulator with its own TCP: medians, and means ± half-width of the 95% confidence interval, over {seeds} {}",
            if seeds == 1 { "seed" } else { "seeds" }
        )];
        lines.extend(self.with_endpoints.iter().map(|scheme| {
            format!("part of {scheme:?} runs in TCP endpoints, which is simulated here but not available in any kernel: a real run includes only the gateway")
        }));
        lines.extend(self.fairness.iter().map(Fairness::line));
        lines.join("\n")
    }
}

impl Row {
    fn new(runs: &[&Prediction]) -> Self {
        let all = |value: fn(&Prediction) -> Option<f64>| -> Option<Vec<f64>> {
            runs.iter().map(|run| value(run)).collect()
        };
        let goodputs = all(|run| run.predicted_goodput_bps);
        Self {
            flow: runs[0].flow.clone(),
            congestion: runs[0].congestion.clone(),
            scheme: runs[0].scheme.clone(),
            predicted_goodput_bps: goodputs.as_deref().and_then(median),
            predicted_mean: goodputs.as_deref().and_then(Estimate::from_samples),
            predicted_share: all(|run| run.predicted_share).and_then(|shares| median(&shares)),
            predicted_awake_share: all(|run| run.predicted_awake_share).and_then(|shares| median(&shares)),
        }
    }
}
