//! Groups of runs that share a row of a table, and the numbers in it.

use lasthop_lab::stats::Estimate;
use lasthop_lab::table;
use lasthop_scenario::Scenario;

/// Groups the runs by key, in the order of the first run with each key.
pub(super) fn grouped<T, K: PartialEq>(runs: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<&T>> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for run in runs {
        let key = key(run);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The text of a number, or a dash without one.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| table::number(value, decimals))
}

/// The text of a rate in Mbit/s, or a dash without one.
pub(super) fn mbps(bps: Option<f64>) -> String {
    number(bps.map(|bps| bps / 1e6), decimals_of(bps.unwrap_or_default()))
}

/// The text of a mean rate in Mbit/s and the half-width of its confidence interval, with the same
/// decimals.
pub(super) fn mean_mbps(mean: Estimate) -> String {
    let decimals = decimals_of(mean.mean);
    let half = mean.ci95.map(|half| format!(" ± {}", number(Some(half / 1e6), decimals)));
    format!("{}{}", number(Some(mean.mean / 1e6), decimals), half.unwrap_or_default())
}

/// The number of decimals for a rate in Mbit/s: at least three significant digits, up to a limit.
fn decimals_of(bps: f64) -> usize {
    match bps {
        low if low < 0.1e6 => 4,
        low if low < 1e6 => 3,
        _ => 2,
    }
}

/// The labels of schemes with a part in TCP endpoints, which a real kernel does not have.
pub(super) fn with_endpoints(scenario: &Scenario) -> Vec<String> {
    let schemes = scenario.schemes.iter().filter(|scheme| scheme.changes_endpoints());
    schemes.map(|scheme| scheme.label.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_rates_have_as_many_significant_digits_as_high_ones() {
        assert_eq!(
            [Some(12.345e6), Some(1.5e6), Some(0.456_78e6), Some(0.051_23e6), Some(0.0), None].map(mbps),
            ["12.35", "1.50", "0.457", "0.0512", "0.0000", "-"]
        );
        assert_eq!(mean_mbps(Estimate { mean: 12.5e6, ci95: Some(0.04e6) }), "12.50 ± 0.04");
        assert_eq!(mean_mbps(Estimate { mean: 0.05e6, ci95: None }), "0.0500");
    }
}
