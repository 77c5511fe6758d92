//! A row of the dissertation's numbers beside ours.

use serde_json::{Map, Value};

use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// The schemes' names in rows.
pub(super) const TCP: &str = "tcp-reno";
pub(super) const LLE: &str = "lle-tcp as published";
/// The schemes without an agent: variants of TCP.
const NO_AGENT: [&str; 4] = [TCP, "tcp", "westwood", "vegas"];

/// The tolerance around a throughput, a time or an amount of the dissertation, as a fraction of it.
pub(super) const TOLERANCE: f64 = 0.05;
/// The tolerance around an improvement, in percentage points.
pub(super) const POINTS: f64 = 5.0;

/// The head of a row: its place in the dissertation, and its subject.
pub(super) struct Head<'a> {
    pub(super) item: &'a str,
    pub(super) parameters: Value,
    pub(super) scheme: &'a str,
    pub(super) metric: &'a str,
    pub(super) unit: &'static str,
}

impl Head<'_> {
    /// The row of a number of the text and ours, with a tolerance.
    pub(super) fn row(
        self,
        published: Reference,
        tolerance: Reference,
        measured: Option<Estimate>,
        runs: usize,
    ) -> Row {
        let is_of_no_agent = NO_AGENT.contains(&self.scheme);
        let row = Row {
            paper: "lle-tcp".to_owned(),
            item: self.item.to_owned(),
            parameters: self.parameters.as_object().cloned().unwrap_or_else(Map::new),
            scheme: self.scheme.to_owned(),
            metric: self.metric.to_owned(),
            unit: self.unit.to_owned(),
            published,
            // Such as "figure 3.9, half as many ACKs".
            alternative: self.item.contains(", "),
            ..Row::within(tolerance, measured, runs)
        };
        if is_of_no_agent { row.without_agent() } else { row }
    }

    /// The row of a throughput, a time or an amount.
    pub(super) fn amount(self, published: f64, measured: Option<Estimate>, runs: usize) -> Row {
        let tolerance = Reference::Range(published * (1.0 - TOLERANCE), published * (1.0 + TOLERANCE));
        self.row(Reference::Number(published), tolerance, measured, runs)
    }

    /// The row of an improvement in percent.
    pub(super) fn per_cent(self, published: Reference, measured: Option<Estimate>, runs: usize) -> Row {
        let tolerance = match published {
            Reference::Number(number) => Reference::Range(number - POINTS, number + POINTS),
            Reference::Range(from, to) => Reference::Range(from - POINTS, to + POINTS),
            Reference::None => Reference::None,
        };
        self.row(published, tolerance, measured, runs).without_effect(Some(0.0))
    }

    /// The row of a gain without a published number: the complete confidence interval must be above
    /// zero.
    pub(super) fn above_zero(self, measured: Option<Estimate>, runs: usize) -> Row {
        let certain = measured.map(|gain| gain.mean - gain.ci95.unwrap_or(f64::INFINITY));
        let row = self.row(Reference::None, Reference::None, measured, runs);
        Row { agrees: certain.is_some_and(|certain| certain > 0.0), ..row }.without_effect(Some(0.0))
    }

    /// The row of a claim without a number: whether it holds, and whether it would without an
    /// agent.
    pub(super) fn claim(self, (holds, without): (bool, bool), runs: usize) -> Row {
        let row = self.row(Reference::None, Reference::None, None, runs);
        Row { agrees: holds, ..row }.claim_without_effect(without)
    }
}
