//! What a link is like from a time on, as keys of a scenario.

use toml::{Table, Value};

/// The link from a time on.
pub(super) struct State {
    /// As the command line has it; the first has none.
    pub(super) at: String,
    /// The keys of the download and of the upload.
    pub(super) ways: [Table; 2],
    /// Whether the link is so for a time only.
    pub(super) ends: bool,
    /// A key to be written even if its value is the one before.
    pub(super) always: Option<&'static str>,
}

impl State {
    /// The one at the start.
    pub(super) fn first(ways: [Table; 2]) -> Self {
        Self { at: String::new(), ways, ends: false, always: None }
    }

    /// The keys without one of them.
    pub(super) fn without(&self, key: Option<&str>) -> [Table; 2] {
        let mut ways = self.ways.clone();
        for way in &mut ways {
            key.and_then(|key| way.remove(key));
        }
        ways
    }
}

/// Few links have faults, correlated delays or packets that overtake, impair a part of the traffic or cut
/// connections: a scenario without any is easier to read without these keys.
pub(super) fn leave_out_what_never_happens(states: &mut [State]) {
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

/// Keys of which the directions have different values at any time. The others are written once, as
/// a user would: a value of the link does not apply to a direction that has its own.
pub(super) fn split_keys(states: &[State]) -> Vec<String> {
    let keys = states[0].ways[0].keys();
    let differ =
        |key: &&String| states.iter().any(|state| state.ways[0].get(*key) != state.ways[1].get(*key));
    keys.filter(differ).cloned().collect()
}

/// The keys of the link that are not as `before` has them, with their values.
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

/// Puts a value at `KEY` or `TABLE.KEY`.
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
