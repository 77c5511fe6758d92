//! What is in the cells of tables.

use crate::stats::Estimate;

pub(super) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

pub(super) fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    Estimate { mean: estimate.mean * factor, ci95: estimate.ci95.map(|ci95| ci95 * factor) }
}

pub(super) fn plus_minus(estimate: &Estimate, decimals: usize) -> String {
    // A rounded zero has no sign.
    let mean =
        if estimate.mean.abs() < 0.5 * libm::pow(10.0, -(decimals as f64)) { 0.0 } else { estimate.mean };
    match estimate.ci95 {
        Some(ci95) => format!("{mean:.decimals$} ± {ci95:.decimals$}"),
        None => format!("{mean:.decimals$}"),
    }
}

/// A variance, given in seconds squared, in milliseconds squared: delays stand beside it in
/// milliseconds.
pub fn millis_squared(variance_s2: f64) -> String {
    format!("{:.1}", variance_s2 * 1e6)
}

pub(super) fn count(estimate: &Estimate) -> String {
    format!("{:.1}", estimate.mean)
}
