//! The same dissertation, chapter 4: C3TCP's numbers beside ours. The figures are lost; what is
//! reproduced is what the text says of them.
//!
//! | module | figures | what is in it |
//! |---|---|---|
//! | [`string`] | 4.11 to 4.19 | four stations in a row with cross traffic |
//! | [`grid`] | 4.21 | twenty stations, a long flow and a short one |
//! | `capacity` | 4.11 | what a path carries by arithmetic |
//! | `periods` | | runs cut into periods, and what is measured in each |
//!
//! Figures 4.18 and 4.19 show parts of 4.16 and 4.17.

mod capacity;
pub mod grid;
mod periods;
pub mod string;

use lasthop_scenario::BuildError;
use serde_json::Value;

use super::row::Head;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// The short name of the paper.
const PAPER: &str = "c3tcp";
/// How far a throughput may lie from the dissertation's, as a part of it; and an improvement, in points.
const PART: f64 = 0.1;
const POINTS: f64 = 5.0;

/// The string once more, with what the text leaves out: ns-2 has no routes but those of a routing protocol.
const EXPERIMENTS: [(&str, &[&str]); 2] = [
    ("with AODV", &["wlans.string.routing=aodv"]),
    (
        "with AODV and ns-2's ratio of the ranges",
        &["wlans.string.routing=aodv", "wlans.string.propagation.carrier-sense=49.5 m"],
    ),
];

/// Runs both scenarios, with `seeds` runs behind each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, BuildError> {
    let seeds = seeds.max(2);
    let mut rows = string::rows(seeds, progress)?;
    for (what, settings) in EXPERIMENTS {
        rows.extend(string::experiment(what, settings, seeds, progress)?);
    }
    rows.extend(grid::rows(seeds, progress)?);
    Ok(rows)
}

/// Where a row stands, and what it is about.
fn head<'a>(
    item: &'a str,
    parameters: Value,
    scheme: &'a str,
    metric: &'a str,
    unit: &'static str,
) -> Head<'a> {
    Head { item, parameters, scheme, metric, unit }
}

/// A number of the text's within a tolerance, and ours.
fn within(head: Head<'_>, published: Reference, tolerance: Reference, samples: &[f64]) -> Row {
    let measured = Estimate::of(samples);
    Row { paper: PAPER, ..head.row(published, tolerance, measured, samples.len()) }
}

/// A throughput in Mbit/s.
fn throughput(head: Head<'_>, published: f64, samples: &[f64]) -> Row {
    let tolerance = Reference::Range(published * (1.0 - PART), published * (1.0 + PART));
    within(head, Reference::Number(published), tolerance, samples)
}

/// By how many per cent one has more than another.
fn improvement(
    head: Head<'_>,
    published: Reference,
    tolerance: Reference,
    ours: &[f64],
    theirs: &[f64],
) -> Row {
    let measured = Estimate::percent_above(ours, theirs);
    Row { paper: PAPER, ..head.row(published, tolerance, measured, ours.len()) }
}

#[cfg(test)]
mod tests;
