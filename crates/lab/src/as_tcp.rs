//! AS-TCP: its paper's claims about uploads over one access point, each in a row.
//!
//! Jung, Choi, Seok, Kwon, Choi, "Augmented Split-TCP over Wireless LANs". The figures are lost;
//! the claims are those of the text (sections IV.A to IV.E). `scenarios/uploads.toml` chooses what
//! the paper leaves open, as in ns-2, which the paper used: the legs of I-TCP, too, acknowledge
//! each segment. Every claim about I-TCP is also checked with the delayed ACKs of 4.3BSD.

use rayon::prelude::*;
use serde_json::{Map, json};

use crate::claim::{Claim, Effort, Runs, Setting};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::{RunError, RunSummary};
use crate::stats::Estimate;

const SCENARIO: &str = include_str!("../../../scenarios/uploads.toml");

/// The schemes, in place of those in the file.
const SCHEMES: &str = r#"schemes=[
    "none",
    { scheme = "i-tcp", preset = "published", acks = "every-segment", label = "i-tcp as in ns-2" },
    { scheme = "i-tcp", preset = "published", label = "i-tcp as published" },
    { scheme = "as-tcp", preset = "published", label = "as-tcp as published" },
]"#;
const TCP: &str = "none";
const I_TCP: &str = "i-tcp as in ns-2";
/// The alternative: delayed ACKs.
const I_TCP_DELAYED: &str = "i-tcp as published";
const AS_TCP: &str = "as-tcp as published";

/// The schemes that AS-TCP is compared with.
const OTHERS: [&str; 3] = [TCP, I_TCP, I_TCP_DELAYED];

/// Numbers of uploading hosts: few, moderate (twice), and the maximum.
const HOSTS: [u32; 4] = [5, 20, 40, 80];

/// Limits of the access point's queue, in packets.
const QUEUES: [u32; 3] = [1000, 500, 100];

/// Runs the experiments of some figures.
type Part = fn(Effort, &dyn Progress) -> Result<Vec<Row>, RunError>;

const PARTS: [Part; 3] = [queues, errors, power_save];

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let effort = Effort { seeds: seeds.max(2), duration: None };
    let rows: Vec<Vec<Row>> =
        PARTS.par_iter().map(|rows| rows(effort, progress)).collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// Figures 3 and 4: throughput and fairness over the number of hosts and the queue.
fn queues(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    const ABOVE: &str = "figure 3: more throughput where there are few or a moderate number of hosts";
    let mut rows = Vec::new();
    for queue in QUEUES {
        let of_hosts = |hosts: &u32| runs(*hosts, queue, &[], effort, progress);
        let by_hosts: Vec<Runs> = HOSTS.par_iter().map(of_hosts).collect::<Result<_, _>>()?;
        for runs in &by_hosts[..3] {
            rows.extend(
                OTHERS.map(|other| of_other(other, runs.row(&Claim::more_goodput(ABOVE, (AS_TCP, other))))),
            );
        }
        let (few, many) = (&by_hosts[0], &by_hosts[HOSTS.len() - 1]);
        rows.push(change("figure 3: falls as hosts are added", AS_TCP, (few, many), Trend::Falls));
        rows.extend(OTHERS.map(|scheme| {
            let grows = "figure 3: grows a little as hosts are added";
            of_other(scheme, change(grows, scheme, (few, many), Trend::Grows))
        }));
        if queue == 100 {
            let less = "figure 4c: less fair as hosts are added";
            rows.extend(
                OTHERS.map(|scheme| of_other(scheme, fairer(less, scheme, (few, many), Trend::Falls))),
            );
            let kept = "figure 4c: almost as fair with many hosts";
            rows.push(fairer(kept, AS_TCP, (few, many), Trend::Stays));
        }
        for (runs, hosts) in by_hosts.iter().zip(HOSTS) {
            rows.extend([I_TCP, I_TCP_DELAYED].map(|scheme| {
                of_other(scheme, similar(runs, scheme, "section IV.E: I-TCP is like TCP", goodput))
            }));
            if queue == 100 && hosts == HOSTS[HOSTS.len() - 1] {
                let fairer = "figure 4: fairer with a small queue and many hosts";
                rows.extend(OTHERS.map(|other| {
                    let claim = Claim::more(fairer, (AS_TCP, other), "higher fairness index", fairness);
                    of_other(other, runs.row(&claim))
                }));
            } else if queue > 100 {
                let all = OTHERS.into_iter().chain([AS_TCP]);
                rows.extend(all.map(|scheme| of_other(scheme, fair(runs, scheme))));
            }
        }
    }
    Ok(rows)
}

/// Figure 5: frame errors.
fn errors(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    const ABOVE: &str = "figure 5: more throughput at each error rate";
    let mut rows = Vec::new();
    let rates = [("10%", 5), ("20%", 5), ("40%", 5), ("10%", 20), ("20%", 20), ("40%", 20)];
    for (rate, hosts) in rates {
        let setting = format!("wlans.cell.errors={{ packet-error-rate = \"{rate}\" }}");
        let runs = runs(hosts, 1000, &[setting], effort, progress)?;
        rows.extend(
            OTHERS
                .map(|other| of_other(other, runs.row(&Claim::more_goodput(ABOVE, (AS_TCP, other)).by(5.0)))),
        );
    }
    Ok(rows)
}

/// Figure 6: uploads of files by stations in power-save mode.
fn power_save(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let mut rows = Vec::new();
    for size in ["10 kB", "50 kB", "100 kB"] {
        let of = |power_save: &str| {
            let mut settings = vec![format!("flows.up.size={size}"), "stop-when-done=true".to_owned()];
            if !power_save.is_empty() {
                settings.push(format!("wlans.cell.power-save={{ beacon-interval = \"{power_save}\" }}"));
            }
            runs(5, 1000, &settings, effort, progress)
        };
        let [without, short, long] = [of("")?, of("50 ms")?, of("200 ms")?];
        for scheme in OTHERS {
            let longer = "figure 6: takes longer the longer the beacon interval is";
            rows.push(of_other(scheme, slower(longer, scheme, (&without, &short), Trend::Grows)));
            rows.push(of_other(scheme, slower(longer, scheme, (&short, &long), Trend::Grows)));
        }
        rows.push(slower(
            "figure 6: takes as long whatever power save is",
            AS_TCP,
            (&without, &long),
            Trend::Stays,
        ));
    }
    Ok(rows)
}

fn runs(
    hosts: u32,
    queue: u32,
    settings: &[String],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Runs, RunError> {
    let common = [
        SCHEMES.to_owned(),
        format!("nodes.station.count={hosts}"),
        format!("wlans.cell.queue=\"{queue} packets\""),
    ];
    let mut parameters =
        Map::from_iter([("hosts".to_owned(), json!(hosts)), ("queue".to_owned(), json!(queue))]);
    if !settings.is_empty() {
        parameters.insert("set".to_owned(), json!(settings.join(", ")));
    }
    let settings = common.into_iter().chain(settings.iter().cloned()).collect();
    Runs::run_with("as-tcp", SCENARIO, Setting { settings, parameters, schemes: &[] }, effort, progress)
}

/// The row, as an alternative if the scheme is I-TCP with delayed ACKs.
fn of_other(scheme: &str, row: Row) -> Row {
    if scheme == I_TCP_DELAYED { row.as_alternative() } else { row }
}

/// The change of a quantity from one experiment to another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trend {
    Falls,
    Grows,
    /// By less than a tenth.
    Stays,
}

impl Trend {
    /// Whether a change in percent has this trend.
    fn agrees(self, change: &Estimate) -> bool {
        let margin = change.ci95.unwrap_or(f64::INFINITY);
        match self {
            Self::Falls => change.mean + margin < 0.0,
            Self::Grows => change.mean - margin > 0.0,
            Self::Stays => change.mean.abs() < 10.0,
        }
    }
}

fn change(item: &str, scheme: &str, (from, to): (&Runs, &Runs), trend: Trend) -> Row {
    of_change(item, scheme, (from, to), "change of throughput", goodput, trend)
}

fn fairer(item: &str, scheme: &str, (from, to): (&Runs, &Runs), trend: Trend) -> Row {
    of_change(item, scheme, (from, to), "change of the fairness index", fairness, trend)
}

fn slower(item: &str, scheme: &str, (from, to): (&Runs, &Runs), trend: Trend) -> Row {
    of_change(item, scheme, (from, to), "change of the time that a file takes", completion, trend)
}

fn of_change(
    item: &str,
    scheme: &str,
    (from, to): (&Runs, &Runs),
    metric: &str,
    of: fn(&RunSummary) -> f64,
    trend: Trend,
) -> Row {
    let measured = Estimate::percent_above(&to.samples(scheme, of), &from.samples(scheme, of));
    let mut parameters = to.parameters().clone();
    // The hosts or the settings differ.
    let differs = from.parameters().iter().filter(|(key, value)| parameters.get(*key) != Some(value));
    let differs: Vec<_> = differs.map(|(key, value)| (format!("{key}_before"), value.clone())).collect();
    parameters.extend(differs);
    let row = Row {
        paper: "as-tcp".to_owned(),
        item: item.to_owned(),
        parameters,
        scheme: scheme.to_owned(),
        metric: metric.to_owned(),
        unit: "percent".to_owned(),
        published: Reference::None,
        measured: measured.map(|estimate| estimate.mean),
        ci95: measured.and_then(|estimate| estimate.ci95),
        runs: to.samples(scheme, of).len(),
        tolerance: if trend == Trend::Stays { Reference::Range(-10.0, 10.0) } else { Reference::None },
        agrees: measured.is_some_and(|change| trend.agrees(&change)),
        no_effect: None,
        no_effect_agrees: None,
        alternative: false,
    };
    let without = Estimate::percent_above(&to.samples(TCP, of), &from.samples(TCP, of));
    let agrees = without.is_some_and(|change| trend.agrees(&change));
    Row { no_effect: without.map(|change| change.mean), no_effect_agrees: Some(agrees), ..row }
}

/// The claim that a form of I-TCP is about equal to TCP. The text has no number: the tolerance of a
/// tenth is ours.
fn similar(runs: &Runs, scheme: &str, item: &str, of: fn(&RunSummary) -> f64) -> Row {
    let measured = Estimate::percent_above(&runs.samples(scheme, of), &runs.samples(TCP, of));
    let tolerance = Reference::Range(-10.0, 10.0);
    let row = Row {
        paper: "as-tcp".to_owned(),
        item: item.to_owned(),
        parameters: runs.parameters().clone(),
        scheme: scheme.to_owned(),
        metric: "more goodput than TCP".to_owned(),
        unit: "percent".to_owned(),
        published: Reference::None,
        ..Row::within(tolerance, measured, runs.samples(scheme, of).len())
    };
    row.without_effect(Some(0.0))
}

/// The claim that a scheme is almost fair. The text has no number: the bound is ours.
fn fair(runs: &Runs, scheme: &str) -> Row {
    let measured = Estimate::from_samples(&runs.samples(scheme, fairness));
    let tolerance = Reference::Range(0.95, 1.0);
    let row = Row {
        paper: "as-tcp".to_owned(),
        item: "figure 4: almost fair with a large queue".to_owned(),
        parameters: runs.parameters().clone(),
        scheme: scheme.to_owned(),
        metric: "fairness index".to_owned(),
        unit: String::new(),
        published: Reference::None,
        ..Row::within(tolerance, measured, runs.samples(scheme, fairness).len())
    };
    row.without_effect(Estimate::from_samples(&runs.samples(TCP, fairness)).map(|estimate| estimate.mean))
}

fn goodput(run: &RunSummary) -> f64 {
    run.aggregate.goodput_bps
}

fn fairness(run: &RunSummary) -> f64 {
    run.aggregate.jain_fairness.unwrap_or(0.0)
}

/// The mean completion time over the hosts; an incomplete file counts with the duration of the run.
fn completion(run: &RunSummary) -> f64 {
    let times = run.flows.iter().map(|flow| flow.completion_s.unwrap_or(run.duration_s));
    times.sum::<f64>() / run.flows.len() as f64
}
