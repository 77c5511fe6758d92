//! A number of the text's beside ours.

use serde_json::Value;

use crate::kliazovich::row::Head;
use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// The short name of the paper.
const PAPER: &str = "c3tcp";
/// How far a throughput may lie from the dissertation's, as a part of it; and an improvement, in points.
const PART: f64 = 0.1;
pub(super) const POINTS: f64 = 5.0;

/// Where a row stands, and what it is about.
pub(super) fn head<'a>(
    item: &'a str,
    parameters: Value,
    scheme: &'a str,
    metric: &'a str,
    unit: &'static str,
) -> Head<'a> {
    Head { item, parameters, scheme, metric, unit }
}

/// A number of the text's within a tolerance, and ours.
pub(super) fn within(head: Head<'_>, published: Reference, tolerance: Reference, samples: &[f64]) -> Row {
    let measured = Estimate::of(samples);
    Row { paper: PAPER.to_owned(), ..head.row(published, tolerance, measured, samples.len()) }
}

/// A throughput in Mbit/s.
pub(super) fn throughput(head: Head<'_>, published: f64, samples: &[f64]) -> Row {
    let tolerance = Reference::Range(published * (1.0 - PART), published * (1.0 + PART));
    within(head, Reference::Number(published), tolerance, samples)
}

/// By how many per cent one has more than another.
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
