//! The state of a link from a certain time, as keys of a scenario.

use toml::{Table, Value};

/// The state of the link from a certain time.
pub(super) struct State {
    /// The time on the command line; empty for the first state.
    pub(super) at: String,
    /// The keys of the download and of the upload.
    pub(super) ways: [Table; 2],
    /// Whether the state is temporary.
    pub(super) ends: bool,
    /// A key that is written even if its value has not changed.
    pub(super) always: Option<&'static str>,
}

impl State {
    /// The state at the start.
    pub(super) fn first(ways: [Table; 2]) -> Self {
        Self { at: String::new(), ways, ends: false, always: None }
    }

    /// The keys of both directions without `key`.
    pub(super) fn without(&self, key: Option<&str>) -> [Table; 2] {
        let mut ways = self.ways.clone();
        for way in &mut ways {
            key.and_then(|key| way.remove(key));
        }
        ways
    }
}

/// Removes keys that have their default value in all states. Few links have faults, correlated
/// delays or reordering, impair a part of the traffic or cut connections, and a scenario is easier
/// to read without these keys.
pub(super) fn remove_unused_keys(states: &mut [State]) {
    let usual = ["duplicate", "corrupt", "delay-correlation", "reorder"].map(|key| (key, "0%"));
    for (key, usual) in
        usual.into_iter().chain([("only", "all"), ("except", "none"), ("connections", "kept")])
    {
        let mut values = states.iter().flat_map(|state| &state.ways).filter_map(|way| way.get(key)?.as_str());
        if values.all(|value| value == usual) {
            states.iter_mut().flat_map(|state| &mut state.ways).for_each(|way| drop(way.remove(key)));
        }
    }
}

/// The keys that have different values for the two directions in any state. Other keys are written
/// once for the link, as a user would write them; a key of a direction takes precedence over that
/// of the link.
pub(super) fn split_keys(states: &[State]) -> Vec<String> {
    let keys = states[0].ways[0].keys();
    let differ =
        |key: &&String| states.iter().any(|state| state.ways[0].get(*key) != state.ways[1].get(*key));
    keys.filter(differ).cloned().collect()
}

/// The keys of the link whose values differ from those in `before`, with their values.
pub(super) fn keys(split: &[String], before: Option<&[Table; 2]>, now: &[Table; 2]) -> Vec<(String, Value)> {
    let names = now[0].keys().flat_map(|key| {
        if split.contains(key) {
            vec![(0, key, format!("forward.{key}")), (1, key, format!("backward.{key}"))]
        } else {
            vec![(0, key, key.clone())]
        }
    });
    let differs =
        |way: usize, key: &str| before.is_none_or(|before| before[way].get(key) != now[way].get(key));
    names
        .filter(|(way, key, _)| differs(*way, key))
        .map(|(way, key, name)| (name, now[way][key].clone()))
        .collect()
}

/// Inserts a value at `KEY` or `TABLE.KEY`.
pub(super) fn insert(link: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(link.insert(key.to_owned(), value)),
        Some((table, key)) => {
            let table = link.entry(table).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(table) = table {
                table.insert(key.to_owned(), value);
            }
        }
    }
}
