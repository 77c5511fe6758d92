//! The results of a trial's runs, as text and as JSON.

use std::collections::BTreeSet;

use lasthop_lab::stats::median;
use lasthop_lab::table::Table;
use lasthop_scenario::Scenario;
use lasthop_trial::roaming::RoamingRun;
use lasthop_trial::session::SessionRun;
use lasthop_trial::{Crash, Outcome, RunOutcome};
use serde::Serialize;

use super::doubts::{Doubt, Notes, doubts};
use super::fairness::{self, Fairness, Shared};
use super::roaming::{self, RoamingRow};
use super::rows::{grouped, mbps, number, with_endpoints};
use super::sessions::{self, Entry, SessionRow};

/// The document that `--json` prints.
#[derive(Serialize)]
pub(super) struct Report {
    /// The scenario's name.
    scenario: String,
    /// The seeds; each row has one run with each seed, unless the trial was interrupted.
    seeds: Vec<u64>,
    /// The number of runs that were to be made.
    planned_runs: u64,
    /// The number of runs that were made; fewer if the trial was interrupted.
    done_runs: u64,
    /// The scheme that the others are compared with.
    baseline: String,
    /// Schemes of which only the part in the gateway ran. Their other part belongs in TCP
    /// endpoints, and the kernel's TCP does not have it.
    with_endpoints: Vec<String>,
    /// One row for each flow, congestion control and scheme.
    rows: Vec<Row>,
    /// Fairness between flows that run together; empty if flows run one at a time.
    fairness: Vec<Fairness>,
    /// One entry for each flow of each run.
    runs: Vec<Outcome>,
    /// One row for each session, congestion control and scheme.
    sessions: Vec<SessionRow>,
    /// One entry for each session of each run.
    session_runs: Vec<SessionRun>,
    /// One row for each group of runs that differ in the seed only; empty if clients do not roam.
    roaming: Vec<RoamingRow>,
    /// One entry for each run; empty if clients do not roam.
    roaming_runs: Vec<RoamingRun>,
}

/// Medians over the seeds.
#[derive(Serialize)]
struct Row {
    flow: String,
    congestion: String,
    scheme: String,
    /// The hosts' kernel, if they had one of their own, in simulated time: its version; if the user has given its path, the name of its folder in a cache, or the path.
    kernel: Option<String>,
    /// Number of runs. The other keys of this table are medians over these runs, unless stated
    /// otherwise; a median is null if a run has no value.
    runs: usize,
    /// Number of runs that are not trusted.
    doubtful: usize,
    /// The runs that are not trusted, with the reasons.
    doubts: Vec<Doubt>,
    /// Goodput in bits per second.
    goodput_bps: f64,
    /// Lowest goodput of a run, in bits per second.
    goodput_min_bps: f64,
    /// Highest goodput of a run, in bits per second.
    goodput_max_bps: f64,
    /// Goodput in the simulator, in bits per second, with the same seeds; `None` for a congestion
    /// control that the simulator does not have.
    predicted_goodput_bps: Option<f64>,
    /// Share of the goodput of all flows in the run.
    #[serde(rename = "goodput_share")]
    share: f64,
    /// `goodput_share` in the simulator.
    #[serde(rename = "predicted_goodput_share")]
    predicted_share: Option<f64>,
    /// Share of the run for which the flow's host was awake; `None` if it is not in power-save
    /// mode.
    awake_share: Option<f64>,
    /// `awake_share` in the simulator.
    predicted_awake_share: Option<f64>,
    /// Seconds from the flow's start to its last octet; `None` for a flow that has no size or did
    /// not complete in every run.
    completion_s: Option<f64>,
    /// Seconds from the flow's start to the last octet that arrived, whether or not it was the last of all.
    last_octet_s: Option<f64>,
    /// Segments that the sender's TCP retransmitted.
    retransmits: f64,
    /// The most octets that the gateway owed in a run when it was killed: it had acknowledged them, and they were not known
    /// to be delivered; of all connections together; `None` if it was not killed.
    owed_octets: Option<u64>,
    /// The most octets that had been acknowledged to the flow's sender in a run and were not received by its end; `None`
    /// likewise.
    undelivered_octets: Option<u64>,
    /// Median round-trip time of the latency probe, in milliseconds.
    latency_median_ms: Option<f64>,
    /// 95th percentile of that round-trip time, in milliseconds.
    latency_p95_ms: Option<f64>,
    /// Processor time of the packet loops of all gateways, as a share of one core.
    gateway_cores: Option<f64>,
    /// Percentage by which the goodput is above the baseline's; `None` for the baseline.
    improvement_percent: Option<f64>,
}

impl Report {
    /// The report of these outcomes, of which there should be one for each planned run.
    pub(super) fn new(scenario: &Scenario, outcomes: Vec<RunOutcome>, planned_runs: usize) -> Self {
        let done_runs = outcomes.len() as u64;
        let (mut runs, mut session_runs, mut roaming_runs) = (Vec::new(), Vec::new(), Vec::new());
        for RunOutcome { flows, sessions, roaming } in outcomes {
            runs.extend(flows);
            session_runs.extend(sessions);
            roaming_runs.extend(roaming);
        }
        let baseline = scenario.schemes[scenario.baseline].label.clone();
        let rows = grouped(&runs, |run| {
            (run.flow.clone(), run.congestion.clone(), run.scheme.clone(), run.kernel.clone())
        });
        let mut rows: Vec<Row> = rows.iter().filter_map(|runs| Row::new(runs)).collect();
        let references: Vec<Option<f64>> = rows
            .iter()
            .map(|row| {
                let of_flow = rows.iter().filter(|other| {
                    other.flow == row.flow && other.kernel == row.kernel && other.scheme == baseline
                });
                let of_flow: Vec<&Row> = of_flow.collect();
                let same = of_flow.iter().find(|other| other.congestion == row.congestion);
                // A row with its own congestion control is compared with the baseline's only row,
                // if there is only one.
                let reference = same.or_else(|| of_flow.first().filter(|_| of_flow.len() == 1));
                reference.map(|row| row.goodput_bps)
            })
            .collect();
        for (row, reference) in rows.iter_mut().zip(references) {
            if row.scheme != baseline {
                row.improvement_percent = reference
                    .filter(|reference| *reference > 0.0)
                    .map(|reference| (row.goodput_bps / reference - 1.0) * 100.0);
            }
        }
        Self {
            scenario: scenario.name.clone(),
            seeds: scenario.seeds.clone(),
            planned_runs: planned_runs as u64,
            done_runs,
            baseline,
            with_endpoints: with_endpoints(scenario),
            rows,
            fairness: if scenario.trial.together { fairness::of_runs(&shared(&runs)) } else { Vec::new() },
            runs,
            sessions: sessions::rows(&session_runs.iter().map(Entry::new).collect::<Vec<_>>()),
            session_runs,
            roaming: roaming::rows(&roaming_runs),
            roaming_runs,
        }
    }

    /// The table of the flows, those of the sessions, and that of the hand-offs.
    pub(super) fn table(&self) -> String {
        let flows = (!self.rows.is_empty()).then(|| self.flows());
        flows
            .into_iter()
            .chain(sessions::tables(&self.sessions, &self.notes()))
            .chain(roaming::table(&self.roaming))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The reasons why rows are not trusted.
    fn notes(&self) -> Notes {
        let of_flows = self.rows.iter().map(|row| (&row.doubts[..], row.runs));
        let of_sessions = self.sessions.iter().map(|row| (&row.doubts[..], row.runs()));
        Notes::from_rows(of_flows.chain(of_sessions))
    }

    fn flows(&self) -> String {
        let completes = self.rows.iter().any(|row| row.completion_s.is_some());
        let mut header = vec!["flow", "TCP", "scheme"];
        let is_simulated = self.is_simulated();
        header.extend(is_simulated.then_some("kernel"));
        let labels = header.len();
        header.push("goodput Mbit/s");
        header.extend(["predicted Mbit/s", "real / predicted"]);
        let together = !self.fairness.is_empty();
        header.extend(together.then_some(["share %", "predicted share %"]).into_iter().flatten());
        let dozes = self.rows.iter().any(|row| row.awake_share.is_some());
        header.extend(dozes.then_some(["awake %", "predicted awake %"]).into_iter().flatten());
        header.extend(completes.then_some("completion s"));
        let crashes = self.rows.iter().any(|row| row.owed_octets.is_some());
        header.extend(
            crashes.then_some(["last octet s", "owed octets", "undelivered octets"]).into_iter().flatten(),
        );
        header.extend(["improvement %", "retransmits", "latency ms", "p95 latency ms"]);
        header.extend((!is_simulated).then_some("gateway CPU cores"));
        let mut table = Table::with_numbers(&header).with_labels(labels);
        let notes = self.notes();
        for row in &self.rows {
            // A table that is wider than the terminal is folded, and its labels are repeated in
            // each part.
            let scheme = format!("{}{}", row.scheme, notes.mark(&row.doubts));
            let mut cells = vec![row.flow.clone(), row.congestion.clone(), scheme];
            cells.extend(row.kernel.clone());
            let [goodput, least, most] =
                [row.goodput_bps, row.goodput_min_bps, row.goodput_max_bps].map(|bps| mbps(Some(bps)));
            cells.push(match row.runs {
                1 => goodput,
                _ => format!("{goodput} ({least} to {most})"),
            });
            cells.push(mbps(row.predicted_goodput_bps));
            let predicted = row.predicted_goodput_bps.filter(|predicted| *predicted > 0.0);
            cells.push(number(predicted.map(|predicted| row.goodput_bps / predicted), 2));
            let percent = |share: Option<f64>| number(share.map(|share| share * 100.0), 1);
            if together {
                cells.extend([percent(Some(row.share)), percent(row.predicted_share)]);
            }
            if dozes {
                cells.extend([percent(row.awake_share), percent(row.predicted_awake_share)]);
            }
            cells.extend(completes.then(|| number(row.completion_s, 2)));
            if crashes {
                let octets = |octets: Option<u64>| number(octets.map(|octets| octets as f64), 0);
                cells.push(number(row.last_octet_s, 2));
                cells.extend([octets(row.owed_octets), octets(row.undelivered_octets)]);
            }
            cells.extend([
                number(row.improvement_percent, 1),
                number(Some(row.retransmits), 0),
                number(row.latency_median_ms, 1),
                number(row.latency_p95_ms, 1),
            ]);
            cells.extend((!is_simulated).then(|| number(row.gateway_cores, 3)));
            table.add_row(cells);
        }
        table.to_string()
    }

    /// Whether the hosts had a kernel of their own.
    fn is_simulated(&self) -> bool {
        let of_sessions = self.session_runs.iter().any(|run| run.kernel.is_some());
        of_sessions || self.runs.iter().any(|run| run.kernel.is_some())
    }

    /// The number of flows and sessions with corrupted octets.
    pub(super) fn corrupted(&self) -> usize {
        let sessions = self.session_runs.iter().filter(|run| !run.intact).count();
        self.runs.iter().filter(|run| !run.intact).count() + sessions
    }

    /// Whether any run is not trusted.
    pub(super) fn is_doubtful(&self) -> bool {
        self.runs.iter().any(|run| !run.trusted) || self.session_runs.iter().any(|run| !run.trusted)
    }

    /// The remarks below the tables, each on a line.
    pub(super) fn remarks(&self) -> String {
        // The number of runs differs between rows if the trial was interrupted.
        let of_rows = self.rows.iter().map(|row| row.runs).chain(self.sessions.iter().map(SessionRow::runs));
        let (least, most) =
            of_rows.fold((usize::MAX, 0), |(least, most), runs| (least.min(runs), most.max(runs)));
        let runs = match most {
            0 | 1 => "one run each".to_owned(),
            _ if least < most => format!("medians of {least} to {most} runs each (least to most)"),
            _ => format!("medians of {most} runs each (least to most)"),
        };
        let mut lines =
            vec![format!("{runs}; predicted: the simulator with its own TCP, same seeds and time")];
        if self.done_runs < self.planned_runs {
            let (done, planned) = (self.done_runs, self.planned_runs);
            lines.push(format!("interrupted: {done} of {planned} runs; the others are missing"));
        }
        if !self.rows.is_empty() {
            lines.push(format!(
                "improvement: goodput gained over {:?}; latency of a small packet sent alongside {}, both ways",
                self.baseline,
                if self.fairness.is_empty() { "the flow" } else { "the flows, on the path of the first" }
            ));
        }
        if self.rows.iter().any(|row| row.owed_octets.is_some()) {
            lines.push(
                "owed: acknowledged by the gateway before it was killed, not known to be delivered, of all connections together; \
                 undelivered: acknowledged to the flow's sender, and not received by the end; the largest of the runs"
                    .to_owned(),
            );
        }
        lines.extend(self.fairness.iter().map(Fairness::line));
        lines.extend(roaming::remark(&self.roaming));
        // In simulated time nothing is late, and there is nothing to say of it.
        if !self.is_simulated() || self.is_doubtful() {
            lines.extend(self.notes().lines());
        }
        lines.extend(self.with_endpoints.iter().map(|scheme| {
            format!("part of {scheme:?} runs in TCP endpoints, which the hosts' kernel does not support: this result includes only the gateway")
        }));
        lines.extend(self.refusals());
        lines.join("\n")
    }

    /// The requests of emulator and gateway that the kernel refused, each once.
    fn refusals(&self) -> BTreeSet<String> {
        let of_flows = self.runs.iter().map(|run| (&run.emulator, &run.gateway));
        let of_sessions = self.session_runs.iter().map(|run| (&run.emulator, &run.gateway));
        let several = self.roaming_runs.iter().flat_map(|run| &run.gateways);
        let notes = of_flows.chain(of_sessions).flat_map(|(emulator, gateway)| {
            let of_gateway = gateway.iter().flat_map(|report| &report.notes);
            emulator.notes.iter().chain(of_gateway)
        });
        let notes = notes.chain(several.flat_map(|report| &report.notes));
        notes.cloned().collect()
    }
}

/// The goodputs of the flows of each run.
fn shared(runs: &[Outcome]) -> Vec<Shared> {
    let of_runs = runs.chunk_by(|one, other| {
        (one.seed, &one.scheme, &one.kernel) == (other.seed, &other.scheme, &other.kernel)
    });
    let shared = of_runs.map(|flows| Shared {
        scheme: flows[0].scheme.clone(),
        kernel: flows[0].kernel.clone(),
        goodputs: Some(flows.iter().map(|flow| flow.goodput_bps).collect()),
        predicted: flows.iter().map(|flow| flow.predicted_goodput_bps).collect(),
    });
    shared.collect()
}

impl Row {
    /// The row of the runs of one case; `None` without runs.
    fn new(runs: &[&Outcome]) -> Option<Self> {
        let of = |value: fn(&Outcome) -> Option<f64>| {
            let samples: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
            // A median over only the runs that have a value would be biased.
            (samples.len() == runs.len()).then(|| median(&samples)).flatten()
        };
        let first = runs.first()?;
        let doubts = doubts(runs.iter().map(|run| (run.seed, run.because.as_slice())));
        let goodputs = || runs.iter().map(|run| run.goodput_bps);
        let largest = |of: fn(&Crash) -> u64| runs.iter().filter_map(|run| run.crash.as_ref().map(of)).max();
        Some(Self {
            flow: first.flow.clone(),
            congestion: first.congestion.clone(),
            scheme: first.scheme.clone(),
            kernel: first.kernel.clone(),
            runs: runs.len(),
            doubtful: doubts.len(),
            doubts,
            goodput_bps: of(|run| Some(run.goodput_bps))?,
            goodput_min_bps: goodputs().fold(f64::INFINITY, f64::min),
            goodput_max_bps: goodputs().fold(0.0, f64::max),
            predicted_goodput_bps: of(|run| run.predicted_goodput_bps),
            share: of(|run| Some(run.share))?,
            predicted_share: of(|run| run.predicted_share),
            awake_share: of(|run| run.awake_share),
            predicted_awake_share: of(|run| run.predicted_awake_share),
            completion_s: of(|run| run.completion_s),
            last_octet_s: of(|run| run.last_octet_s),
            retransmits: of(|run| Some(run.retransmits as f64))?,
            owed_octets: largest(|crash| crash.owed_octets),
            undelivered_octets: largest(|crash| crash.undelivered_octets),
            latency_median_ms: of(|run| run.latency_median_ms),
            latency_p95_ms: of(|run| run.latency_p95_ms),
            gateway_cores: of(|run| run.gateway_cores),
            improvement_percent: None,
        })
    }
}
