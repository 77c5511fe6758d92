//! A row of the thesis's numbers beside ours.

use serde_json::Map;

use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// A row whose published value is a number and whose tolerance is a range around it.
pub(super) fn number_row(
    item: &str,
    (scheme, metric, unit): (&str, &str, &'static str),
    published: f64,
    measured: Option<Estimate>,
    runs: usize,
    tolerance: Reference,
) -> Row {
    Row {
        paper: "goel".to_owned(),
        item: item.to_owned(),
        parameters: Map::new(),
        scheme: scheme.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        published: Reference::Number(published),
        measured: measured.map(|estimate| estimate.mean),
        ci95: measured.and_then(|estimate| estimate.ci95),
        runs,
        tolerance,
        agrees: measured.is_some_and(|estimate| tolerance.contains(estimate.mean)),
        no_effect: None,
        no_effect_agrees: None,
        alternative: false,
    }
}
