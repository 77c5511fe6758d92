//! The queues of an access point with Linux, beside what is claimed of them: T. Høiland-Jørgensen, M. Kazior, D. Täht,
//! P. Hurtig, A. Brunstrom, "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in `WiFi`", USENIX ATC 2017.
//!
//! The claims are of the kind and the size; the bounds of the rows are ours.

use crate::claim::{Claim, Effort, Runs};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::{RunError, RunSummary};
use crate::stats::Estimate;

const SCENARIO: &str = include_str!("../../../../scenarios/anomaly.toml");

const ITEM: &str = "stations of 144, 72 and 7 Mbit/s";
const FIFO: &str = "FIFO";
const FQ_CODEL: &str = "FQ-CoDel";
const AIRTIME: &str = "airtime";

pub(super) fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let runs = Runs::run("wifi", SCENARIO, "", Effort { seeds, duration: None }, progress)?;
    let few = Reference::Range(0.0, 20.0);
    let mut rows = vec![
        bounded(&runs, "Jain's index of the air time", "", Reference::Range(0.99, 1.0), air_time_fairness),
        bounded(&runs, "median delay of the worst call", "ms", few, delay_ms),
    ];
    // An order of magnitude.
    let less = |than| Claim::less(ITEM, (AIRTIME, than), "less median delay of the worst call", delay_ms);
    rows.extend([less(FIFO).by(90.0), less(FQ_CODEL)].iter().map(|claim| runs.row(claim)));
    rows.extend([FIFO, FQ_CODEL].map(|than| runs.row(&Claim::more_goodput(ITEM, (AIRTIME, than)))));
    Ok(rows)
}

/// The row of a figure with this tolerance.
fn bounded(runs: &Runs, metric: &str, unit: &str, tolerance: Reference, of: fn(&RunSummary) -> f64) -> Row {
    let samples = runs.samples(AIRTIME, of);
    let row = Row {
        paper: "wifi".to_owned(),
        item: ITEM.to_owned(),
        scheme: AIRTIME.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        ..Row::within(tolerance, Estimate::from_samples(&samples), samples.len())
    };
    row.without_effect(Estimate::from_samples(&runs.samples(FIFO, of)).map(|estimate| estimate.mean))
}

fn air_time_fairness(run: &RunSummary) -> f64 {
    run.aggregate.air_time_fairness.unwrap_or(f64::NAN)
}

fn delay_ms(run: &RunSummary) -> f64 {
    let median = run.aggregate.datagrams.and_then(|datagrams| datagrams.delay_median_s);
    median.map_or(f64::NAN, |median| median * 1e3)
}
