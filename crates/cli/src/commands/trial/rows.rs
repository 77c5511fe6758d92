//! Runs of one kind, which share a row of a table.

use lasthop_lab::table;
use lasthop_scenario::Scenario;

/// The runs that have the same key, in the order in which each key comes first.
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

/// A number for a reader, or a dash where there is none.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| table::number(value, decimals))
}

/// The labels of schemes with a part in TCP endpoints, which a real kernel does not have.
pub(super) fn with_endpoints(scenario: &Scenario) -> Vec<String> {
    let schemes = scenario.schemes.iter().filter(|scheme| scheme.changes_endpoints());
    schemes.map(|scheme| scheme.label.clone()).collect()
}
