//! `lasthop try`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::stats::median;
use lasthop_lab::{Progress, table};
use lasthop_live::trial::plan::{self, Case};
use lasthop_live::trial::{self, Outcome, TrialError};
use lasthop_scenario::{Scenario, file};
use serde::Serialize;

use crate::failure::Failure;
use crate::load::{self, Choices};
use crate::output;
use crate::progress::Bar;

/// What `try` can be told.
#[derive(Args)]
#[command(after_help = "\
Each flow of the scenario runs by itself, with each congestion control of its table [try], under each scheme, once for each seed. Every \
host is a network namespace of this process: nothing is left behind, whatever ends it.

Examples:
  sudo lasthop try scenarios/try.toml
  sudo lasthop try scenarios/try.toml --set links.air.loss=5% --flows download --congestion cubic --seeds 4")]
pub struct Arguments {
    /// The scenario, a TOML file: hosts, and a router between wires and a wireless hop
    scenario: PathBuf,
    #[command(flatten)]
    choices: Choices,
    /// Try only these schemes (comma-separated labels of the scenario, or names of the catalogue)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    schemes: Vec<String>,
    /// Try only these flows (comma-separated)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    flows: Vec<String>,
    /// Use these congestion controls of the kernel instead of the scenario's (comma-separated)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    congestion: Vec<String>,
    /// Run with this many seeds instead of the scenario's, 1, 2, 3 and so on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: Option<u64>,
    /// Run so many at a time; more than one run a core, and the emulator may come late
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let scenario = chosen(arguments)?;
    plan::check(&scenario).map_err(Failure::usage)?;
    if !lasthop_live::is_root() {
        return Err(Failure::Run(anyhow!(
            "`lasthop try` makes hosts of its own (network namespaces), which takes root: run it with sudo"
        )));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let outcomes = run_all(&scenario, &plan::cases(&scenario), usize::from(arguments.jobs), &stop)?;
    let report = Report::new(&scenario, outcomes);
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&format!("{}\n{}\n{}", load::title(&scenario), report.table(), report.remarks()))?;
    }
    match report.corrupted() {
        0 => Ok(()),
        corrupted => Err(Failure::Run(anyhow!("{corrupted} transfers arrived corrupted"))),
    }
}

/// The scenario as the command line has it.
fn chosen(arguments: &Arguments) -> Result<Scenario, Failure> {
    let mut scenario =
        file::read(&arguments.scenario, &arguments.choices.overrides()).map_err(Failure::usage)?;
    if let Some(seeds) = arguments.seeds {
        scenario.seeds = (1..=seeds).collect();
    }
    if !arguments.schemes.is_empty() {
        load::keep_schemes(&mut scenario, &arguments.schemes)?;
    }
    if !arguments.congestion.is_empty() {
        scenario.trial.congestion.clone_from(&arguments.congestion);
    }
    for name in &arguments.flows {
        if !scenario.flows.iter().any(|flow| flow.name == *name) {
            let known: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
            return Err(Failure::usage(anyhow!(
                "there is no flow {name:?}; there are: {}",
                known.join(", ")
            )));
        }
    }
    if !arguments.flows.is_empty() {
        let background: Vec<bool> = scenario.flows.iter().map(|flow| scenario.is_background(flow)).collect();
        scenario.keep_flows(|index, flow| background[index] || arguments.flows.contains(&flow.name));
    }
    Ok(scenario)
}

/// Runs the cases, some at a time; in the order of the cases.
fn run_all(
    scenario: &Scenario,
    cases: &[Case],
    jobs: usize,
    stop: &AtomicBool,
) -> Result<Vec<Outcome>, Failure> {
    let bar = Bar::new();
    bar.expect(cases.len() as u64);
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<TrialError>> = Mutex::new(None);
    let outcomes: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            scope.spawn(|| {
                while let Some((index, case)) =
                    next_of(cases, &next).filter(|_| !stop.load(Ordering::Relaxed))
                {
                    match trial::run(scenario, case, stop) {
                        Ok(outcome) => lock(&outcomes).push((index, outcome)),
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    bar.advance();
                }
            });
        }
    });
    bar.finish();
    if let Some(error) = lock(&failed).take() {
        return Err(Failure::Run(error.into()));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Run(TrialError::Interrupted.into()));
    }
    let mut outcomes = std::mem::take(&mut *lock(&outcomes));
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn next_of<'a>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// A thread that panicked while it held the lock has already failed the whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Report {
    scenario: String,
    seeds: Vec<u64>,
    baseline: String,
    /// Schemes of which senders or receivers have a part, too, that is not there on hosts of this
    /// kernel.
    gateway_alone: Vec<String>,
    rows: Vec<Row>,
    runs: Vec<Outcome>,
}

/// Medians over the seeds.
#[derive(Serialize)]
struct Row {
    flow: String,
    congestion: String,
    scheme: String,
    runs: usize,
    /// Of these runs, how many are not to be trusted.
    doubtful: usize,
    goodput_bps: f64,
    goodput_min_bps: f64,
    goodput_max_bps: f64,
    /// The simulator's, with its own TCP, over the same seeds; `None` for congestion controls that
    /// it does not have.
    predicted_goodput_bps: Option<f64>,
    completion_s: Option<f64>,
    retransmits: f64,
    latency_median_ms: Option<f64>,
    latency_p95_ms: Option<f64>,
    gateway_cores: Option<f64>,
    /// Above or below the baseline's goodput; `None` for the baseline itself.
    improvement_percent: Option<f64>,
}

impl Report {
    fn new(scenario: &Scenario, runs: Vec<Outcome>) -> Self {
        let baseline = scenario.schemes[scenario.baseline].label.clone();
        let mut rows: Vec<Row> = runs.chunks(scenario.seeds.len()).filter_map(Row::new).collect();
        let references: Vec<Option<f64>> = rows
            .iter()
            .map(|row| {
                let is_reference = |other: &&Row| {
                    other.flow == row.flow && other.congestion == row.congestion && other.scheme == baseline
                };
                rows.iter().find(is_reference).map(|row| row.goodput_bps)
            })
            .collect();
        for (row, reference) in rows.iter_mut().zip(references) {
            if row.scheme != baseline {
                row.improvement_percent = reference
                    .filter(|reference| *reference > 0.0)
                    .map(|reference| (row.goodput_bps / reference - 1.0) * 100.0);
            }
        }
        let gateway_alone = scenario.schemes.iter().filter(|scheme| scheme.changes_endpoints());
        let gateway_alone = gateway_alone.map(|scheme| scheme.label.clone()).collect();
        Self {
            scenario: scenario.name.clone(),
            seeds: scenario.seeds.clone(),
            baseline,
            gateway_alone,
            rows,
            runs,
        }
    }

    fn table(&self) -> String {
        let completes = self.rows.iter().any(|row| row.completion_s.is_some());
        let mut header = vec!["flow", "TCP", "scheme", "goodput Mbit/s"];
        header.extend(["predicted", "real / predicted"]);
        header.extend(completes.then_some("completion s"));
        header.extend(["improvement %", "retransmits", "latency ms", "95% ms", "gateway cores"]);
        let mut table = table::table(&header);
        for row in &self.rows {
            let number = |value: Option<f64>, decimals: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
            };
            let mut cells = vec![row.flow.clone(), row.congestion.clone(), row.scheme.clone()];
            let mark = if row.doubtful > 0 { "! " } else { "" };
            cells.push(match row.runs {
                1 => format!("{mark}{:.2}", row.goodput_bps / 1e6),
                _ => format!(
                    "{mark}{:.2} ({:.2} to {:.2})",
                    row.goodput_bps / 1e6,
                    row.goodput_min_bps / 1e6,
                    row.goodput_max_bps / 1e6
                ),
            });
            cells.push(number(row.predicted_goodput_bps.map(|bps| bps / 1e6), 2));
            let predicted = row.predicted_goodput_bps.filter(|predicted| *predicted > 0.0);
            cells.push(number(predicted.map(|predicted| row.goodput_bps / predicted), 2));
            cells.extend(completes.then(|| number(row.completion_s, 2)));
            cells.extend([
                number(row.improvement_percent, 1),
                format!("{:.0}", row.retransmits),
                number(row.latency_median_ms, 1),
                number(row.latency_p95_ms, 1),
                number(row.gateway_cores, 3),
            ]);
            table.add_row(cells);
        }
        table.to_string()
    }

    /// Runs whose octets did not all arrive as they were sent.
    fn corrupted(&self) -> usize {
        self.runs.iter().filter(|run| !run.intact).count()
    }

    /// What a reader has to know to believe the table, a line each.
    fn remarks(&self) -> String {
        let runs = match self.seeds.len() {
            1 => "one run each".to_owned(),
            seeds => format!("medians of {seeds} runs each (least to most)"),
        };
        let mut lines = vec![format!(
            "{runs}; improvement over {:?}; predicted: the simulator with its own TCP, same seeds and time; latency of a small packet \
             beside the flow, both ways",
            self.baseline
        )];
        lines.push(self.trust());
        lines.extend(self.gateway_alone.iter().map(|scheme| {
            format!("{scheme:?} has a part in TCP endpoints, too, which the hosts' kernel does not have: this is the gateway alone")
        }));
        lines.extend(self.refusals());
        lines.join("\n")
    }

    /// How many runs are to be believed, and why the others are not.
    fn trust(&self) -> String {
        let doubtful: Vec<&Outcome> = self.runs.iter().filter(|run| !run.trusted).collect();
        match doubtful.first() {
            None => "emulator and gateway kept their time in every run".to_owned(),
            Some(first) => {
                let Case { flow, congestion, scheme, .. } = &first.case;
                format!(
                    "not to be trusted, because the machine was too busy: {} of {} runs, marked !; the first, {flow} {congestion} {scheme}: {}",
                    doubtful.len(),
                    self.runs.len(),
                    first.because.join("; ")
                )
            }
        }
    }

    /// What the kernel did not grant to emulator or gateway, each once.
    fn refusals(&self) -> BTreeSet<String> {
        let of_gateways =
            self.runs.iter().filter_map(|run| run.gateway.as_ref()).flat_map(|loop_| &loop_.notes);
        self.runs.iter().flat_map(|run| &run.emulator.notes).chain(of_gateways).cloned().collect()
    }
}

impl Row {
    /// The row of one case's runs; `None` without any.
    fn new(runs: &[Outcome]) -> Option<Self> {
        let of = |value: fn(&Outcome) -> Option<f64>| {
            let samples: Vec<f64> = runs.iter().filter_map(value).collect();
            // A median of the runs that have a value would flatter those that do not.
            (samples.len() == runs.len()).then(|| median(&samples)).flatten()
        };
        let case = &runs.first()?.case;
        let goodputs = || runs.iter().map(|run| run.goodput_bps);
        Some(Self {
            flow: case.flow.clone(),
            congestion: case.congestion.clone(),
            scheme: case.scheme.clone(),
            runs: runs.len(),
            doubtful: runs.iter().filter(|run| !run.trusted).count(),
            goodput_bps: of(|run| Some(run.goodput_bps))?,
            goodput_min_bps: goodputs().fold(f64::INFINITY, f64::min),
            goodput_max_bps: goodputs().fold(0.0, f64::max),
            predicted_goodput_bps: of(|run| run.predicted_goodput_bps),
            completion_s: of(|run| run.completion_s),
            retransmits: of(|run| Some(run.retransmits as f64))?,
            latency_median_ms: of(|run| run.latency_median_ms),
            latency_p95_ms: of(|run| run.latency_p95_ms),
            gateway_cores: of(|run| run.gateway_cores),
            improvement_percent: None,
        })
    }
}
