//! The rows of one setting: each number of the tables beside ours, and what the paper claims of the
//! two schemes.

use crate::claim::{Claim, Runs};
use crate::reproduce::{Reference, Row};
use crate::run::RunSummary;
use crate::sessions::Packets;
use crate::stats::Estimate;

use super::published::{Figures, Setting};

/// CICADA over I-TCP.
const SCHEMES: (&str, &str) = ("cicada", "i-tcp");
const ITEMS: [&str; 3] = ["table 1", "table 2", "table 3"];

/// How far a number may lie from the tables', as factors. The tables' network is known in part
/// only, so that a delay within a half and a variance within a third to three times count as the
/// same.
const THROUGHPUT: (f64, f64) = (0.95, 1.05);
const DELAY: (f64, f64) = (0.5, 1.5);
const VARIANCE: (f64, f64) = (1.0 / 3.0, 3.0);

/// By how much CICADA's throughput lies above I-TCP's in the tables, in per cent.
const GAIN: (f64, f64) = (3.5, 14.1);
/// By how many per cent its delay lies below: it has at most 65% of it.
const SHORTER: f64 = 35.0;
/// The same of the variance: at most a fifth.
const STEADIER: f64 = 80.0;

/// A column of the tables.
struct Column {
    metric: &'static str,
    unit: &'static str,
    of: fn(&RunSummary) -> f64,
    published: fn(&Figures) -> Option<f64>,
    /// How far ours may lie from it.
    factors: (f64, f64),
}

const COLUMNS: [Column; 3] = [
    Column {
        metric: "throughput",
        unit: "Mbit/s",
        of: throughput_mbps,
        published: |figures| Some(figures.throughput_mbps),
        factors: THROUGHPUT,
    },
    Column {
        metric: "voice delay",
        unit: "ms",
        of: delay_ms,
        published: |figures| Some(figures.delay_ms),
        factors: DELAY,
    },
    Column {
        metric: "voice delay variance",
        unit: "ms²",
        of: variance_ms2,
        published: |figures| figures.variance_ms2,
        factors: VARIANCE,
    },
];

/// The rows of a setting: numbers of the tables, then claims.
pub fn rows(setting: &Setting, runs: &Runs) -> Vec<Row> {
    let item = ITEMS[setting.table - 1];
    let numbers = [(SCHEMES.1, &setting.itcp), (SCHEMES.0, &setting.cicada)].map(|(scheme, figures)| {
        COLUMNS.iter().filter_map(|column| {
            let published = (column.published)(figures)?;
            Some(number(item, scheme, column, published, runs))
        })
    });
    let claims = claims(item);
    // Of two rows a variance is lost: nothing is known of how they compare.
    let known = if setting.cicada.variance_ms2.is_some() { &claims[..] } else { &claims[..3] };
    numbers.into_iter().flatten().chain(known.iter().map(|claim| runs.row(claim))).collect()
}

/// Whether a row has a number of the tables, not a claim.
pub fn is_number(row: &Row) -> bool {
    row.unit != "percent"
}

fn claims(item: &'static str) -> [Claim; 4] {
    [
        Claim::more(item, SCHEMES, "more throughput", throughput_mbps),
        Claim::more(item, SCHEMES, "as much more throughput as in the tables", throughput_mbps)
            .by_between(GAIN.0, GAIN.1),
        Claim::less(item, SCHEMES, "shorter voice delay", delay_ms).by(SHORTER),
        Claim::less(item, SCHEMES, "less voice delay variance", variance_ms2).by(STEADIER),
    ]
}

fn number(item: &str, scheme: &str, column: &Column, published: f64, runs: &Runs) -> Row {
    let samples = runs.samples(scheme, column.of);
    let measured = Estimate::of(&samples);
    let tolerance = Reference::Range(published * column.factors.0, published * column.factors.1);
    Row {
        paper: "cicada",
        item: item.to_owned(),
        parameters: runs.parameters().clone(),
        scheme: scheme.to_owned(),
        metric: column.metric.to_owned(),
        unit: column.unit,
        published: Reference::Number(published),
        measured: measured.map(|estimate| estimate.mean),
        ci95: measured.and_then(|estimate| estimate.ci95),
        runs: samples.len(),
        tolerance,
        agrees: measured.is_some_and(|estimate| tolerance.contains(estimate.mean)),
    }
}

/// What applications got of connections and calls, in both directions.
fn throughput_mbps(run: &RunSummary) -> f64 {
    let of_calls = run.aggregate.sessions.and_then(|all| all.voice).map_or(0.0, |voice| voice.goodput_bps);
    (run.aggregate.goodput_bps + of_calls) / 1e6
}

/// The mean over the packets of all calls.
fn delay_ms(run: &RunSummary) -> f64 {
    voice(run).and_then(|packets| packets.delay_mean_s).map_or(f64::NAN, |delay| delay * 1e3)
}

/// The variance over the packets of all calls.
fn variance_ms2(run: &RunSummary) -> f64 {
    voice(run).and_then(|packets| packets.delay_variance_s2).map_or(f64::NAN, |variance| variance * 1e6)
}

fn voice(run: &RunSummary) -> Option<Packets> {
    run.aggregate.sessions.and_then(|all| all.voice).map(|voice| voice.packets)
}
