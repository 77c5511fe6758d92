//! Figures 4.11 to 4.19: a string of four stations, datagrams over its middle from 15 s to 30 s.

use serde_json::{Value, json};

use super::capacity;
use super::periods::{Period, Runs};
use super::row::{POINTS, head, improvement, within};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::RunError;
use crate::stats::Estimate;

pub(super) const FILE: &str = include_str!("../../../../../scenarios/multi-hop.toml");
/// The ends of the periods of a run, in seconds. The first slow start, and the second after the
/// last datagram, belong to none of the three below.
const CUTS: [u64; 5] = [5, 15, 30, 31, 45];
/// The periods: alone, with cross traffic, and alone again.
const BEFORE: usize = 1;
const CROSS: usize = 2;
const AFTER: usize = 4;
/// As published, and with a smoothed window.
const C3TCP: &str = "c3tcp as published";
const SMOOTHED: &str = "c3tcp";
/// The schemes that the text compares C3TCP with: the figure, the scheme, and C3TCP's improvement
/// in percent.
const OTHERS: [(&str, &str, f64); 3] =
    [("figure 4.13", "tcp", 27.0), ("figure 4.17", "westwood", 18.0), ("figure 4.16", "vegas", 7.0)];

/// All rows.
pub fn rows(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let runs = Runs::run(FILE, &[], &CUTS, "n2", seeds, progress)?;
    let mut rows = improvements(&runs, C3TCP, "", &[]);
    rows.extend(queues(&runs));
    rows.extend(measurements(&runs));
    rows.extend(improvements(&runs, SMOOTHED, ", with smoothing", &[]));
    rows.extend(own_queues(&runs, SMOOTHED, "figure 4.15, with smoothing"));
    Ok(rows)
}

/// The improvements with other settings of the scenario, which `what` names.
pub(super) fn experiment(
    what: &str,
    settings: &[&str],
    seeds: u64,
    progress: &dyn Progress,
) -> Result<Vec<Row>, RunError> {
    let runs = Runs::run(FILE, settings, &CUTS, "n2", seeds, progress)?;
    Ok(improvements(&runs, C3TCP, &format!(", {what}"), settings))
}

/// The throughput without cross traffic, in Mbit/s.
fn alone(periods: &[Period]) -> f64 {
    let [first, last] = [BEFORE, AFTER].map(|at| (CUTS[at] - CUTS[at - 1]) as f64);
    (periods[BEFORE].throughput[0] * first + periods[AFTER].throughput[0] * last) / (first + last)
}

fn cross(periods: &[Period]) -> f64 {
    periods[CROSS].throughput[0]
}

/// Figures 4.13, 4.16 and 4.17: C3TCP's improvement over other schemes.
fn improvements(runs: &Runs, scheme: &str, what: &str, settings: &[&str]) -> Vec<Row> {
    let row = |(item, than, percent): (&str, &str, f64), with_cross: bool| {
        let item = format!("{item}{what}");
        let mut parameters = json!({ "than": than });
        if !settings.is_empty() {
            parameters["set"] = json!(settings);
        }
        let about_none = Reference::Range(-2.0, 2.0);
        let (of, metric, published, tolerance) = if with_cross {
            let tolerance = Reference::Range(percent - POINTS, percent + POINTS);
            (
                cross as fn(&[Period]) -> f64,
                "more throughput with cross traffic",
                Reference::Number(percent),
                tolerance,
            )
        } else {
            (alone as fn(&[Period]) -> f64, "more throughput without cross traffic", about_none, about_none)
        };
        let head = head(&item, parameters, scheme, metric, "percent");
        improvement(head, published, tolerance, &runs.samples(scheme, of), &runs.samples(than, of))
    };
    let with = OTHERS.iter().map(|other| row(*other, true));
    with.chain(OTHERS.iter().map(|other| row(*other, false))).collect()
}

/// Figures 4.14 and 4.15: the buffer of N2.
fn queues(runs: &Runs) -> Vec<Row> {
    let full = (Reference::Number(20.0), Reference::Range(19.5, 20.5));
    // The text says that the buffer overflows, not how often.
    let some = (Reference::None, Reference::Range(1.0, f64::INFINITY));
    let of_tcp =
        |metric, range, of: &dyn Fn(&[Period]) -> f64| queue(runs, "figure 4.14", "tcp", metric, range, of);
    let mut rows = vec![
        of_tcp(ALONE, at_most(5.0), &longest(&[BEFORE, AFTER])),
        of_tcp(BESIDE, full, &longest(&[CROSS])),
        of_tcp("overflows of N2 with cross traffic", some, &|run| run[CROSS].overflows as f64),
    ];
    rows.extend(own_queues(runs, C3TCP, "figure 4.15"));
    rows
}

/// Figure 4.15: the buffer of N2 with a form of C3TCP.
fn own_queues(runs: &Runs, scheme: &str, item: &str) -> [Row; 2] {
    [
        queue(runs, item, scheme, BESIDE, at_most(10.0), &longest(&[CROSS])),
        queue(runs, item, scheme, ALONE, at_most(3.0), &longest(&[BEFORE, AFTER])),
    ]
}

const BESIDE: &str = "longest queue of N2 with cross traffic";
const ALONE: &str = "longest queue of N2 without cross traffic";

fn at_most(packets: f64) -> (Reference, Reference) {
    [Reference::Range(0.0, packets); 2].into()
}

fn longest(at: &'static [usize]) -> impl Fn(&[Period]) -> f64 {
    move |periods: &[Period]| at.iter().map(|at| periods[*at].longest_queue).max().unwrap_or(0) as f64
}

fn queue(
    runs: &Runs,
    item: &str,
    scheme: &str,
    metric: &str,
    (published, tolerance): (Reference, Reference),
    of: &dyn Fn(&[Period]) -> f64,
) -> Row {
    let head = head(item, json!({}), scheme, metric, "packets");
    let of_tcp = Estimate::from_samples(&runs.samples("tcp", of)).map(|mean| mean.mean);
    within(head, published, tolerance, &runs.samples(scheme, of)).without_effect(of_tcp)
}

/// Figures 4.11 and 4.12: the stations' measurements. The text has no numbers: it calls the
/// bandwidth a good approximation, and the link's round trips shorter. The bounds are ours.
fn measurements(runs: &Runs) -> Vec<Row> {
    let row = |item, metric, range, of: &dyn Fn(&Period) -> f64, at: usize| {
        let parameters: Value = json!({ "cross_traffic": at == CROSS });
        let head = head(item, parameters, C3TCP, metric, "-");
        let row = within(head, Reference::None, range, &runs.samples(C3TCP, |run| of(&run[at])));
        if item == "figure 4.12" { shorter(row) } else { row }
    };
    let (close, less) = (Reference::Range(0.9, 1.1), Reference::Range(0.0, 1.0));
    let (alone, shared) = (capacity::string_capacity_bps(0.0), capacity::string_capacity_bps(200_000.0));
    let round_trips = |period: &Period| period.link_round_trip() / period.round_trip();
    let grows = |run: &[Period]| run[BEFORE].link_round_trip() / run[CROSS].link_round_trip();
    let grown = head(
        "figure 4.12",
        json!({}),
        C3TCP,
        "link's round trip alone, as a share of that with cross traffic",
        "-",
    );
    let bandwidth = "measured bandwidth, as a share of the calculated one";
    vec![
        row("figure 4.11", bandwidth, close, &|period| period.bandwidth() / alone, BEFORE),
        row("figure 4.11", bandwidth, close, &|period| period.bandwidth() / shared, CROSS),
        row("figure 4.12", "link's round trip, as a share of TCP's", less, &round_trips, BEFORE),
        row("figure 4.12", "link's round trip, as a share of TCP's", less, &round_trips, CROSS),
        shorter(within(grown, Reference::None, less, &runs.samples(C3TCP, grows))),
    ]
}

/// The row of a share below 1. Only C3TCP's stations measure; without an effect the share is 1.
fn shorter(row: Row) -> Row {
    Row { no_effect: Some(1.0), no_effect_agrees: Some(false), ..row }
}
