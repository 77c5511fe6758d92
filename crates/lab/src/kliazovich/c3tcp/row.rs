//! A number of the text beside ours.

use serde_json::Value;

use crate::kliazovich::row::Head;
use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// The short name of the paper.
const PAPER: &str = "c3tcp";
/// The tolerance around a throughput of the dissertation, as a fraction of it.
const TOLERANCE: f64 = 0.1;
/// The tolerance around an improvement, in percentage points.
pub(super) const POINTS: f64 = 5.0;

/// The head of a row.
pub(super) fn head<'a>(
    item: &'a str,
    parameters: Value,
    scheme: &'a str,
    metric: &'a str,
    unit: &'static str,
) -> Head<'a> {
    Head { item, parameters, scheme, metric, unit }
}

/// The row of a number of the text and ours, with a tolerance.
pub(super) fn within(head: Head<'_>, published: Reference, tolerance: Reference, samples: &[f64]) -> Row {
    let measured = Estimate::from_samples(samples);
    Row { paper: PAPER.to_owned(), ..head.row(published, tolerance, measured, samples.len()) }
}

/// The row of a throughput in Mbit/s.
pub(super) fn throughput(head: Head<'_>, published: f64, samples: &[f64]) -> Row {
    let tolerance = Reference::Range(published * (1.0 - TOLERANCE), published * (1.0 + TOLERANCE));
    within(head, Reference::Number(published), tolerance, samples)
}

/// The row of an improvement in percent: `ours` over `theirs`.
pub(super) fn improvement(
    head: Head<'_>,
    published: Reference,
    tolerance: Reference,
    ours: &[f64],
    theirs: &[f64],
) -> Row {
    let measured = Estimate::percent_above(ours, theirs);
    Row { paper: PAPER.to_owned(), ..head.row(published, tolerance, measured, ours.len()) }
        .without_effect(Some(0.0))
}
