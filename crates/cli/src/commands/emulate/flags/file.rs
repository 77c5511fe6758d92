//! Writes the link of the flags as a scenario file.

use std::path::Path;

use toml::{Table, Value};

use super::state::{State, insert, keys, split_keys};

/// The name of the link, as in `lasthop emulate set hop.loss=2%`.
const LINK: &str = "hop";

/// The file of a link with these states: at the start, and after each change. The download follows
/// `trace`, and the upload follows `trace_up`, or `trace` without one.
pub(super) fn of(states: &[State], trace: Option<&Path>, trace_up: Option<&Path>) -> Result<String, String> {
    let split = split_keys(states);
    let first = &states[0];
    let mut link = table([("between", Value::from(vec!["far", "near"]))]);
    if let Some(trace) = trace {
        link.insert("kind".to_owned(), Value::from("wireless"));
        link.insert("trace".to_owned(), name_of(trace)?);
    }
    for (key, value) in keys(&split, None, &first.ways) {
        insert(&mut link, &key, value);
    }
    if let Some(trace) = trace_up {
        insert(&mut link, "backward.trace", name_of(trace)?);
    }
    let node = Value::Table(table([("kind", Value::from("external"))]));
    let nodes = table([("far", node.clone()), ("near", node)]);
    let links = table([(LINK, Value::Table(link))]);
    let mut file = table([("nodes", Value::Table(nodes)), ("links", Value::Table(links))]);
    let changes = changes(states, &split);
    if !changes.is_empty() {
        file.insert("changes".to_owned(), Value::Array(changes));
    }
    toml::to_string(&file).map_err(|error| error.to_string())
}

/// The `changes` of a file. Each permanent change is relative to the previous one; a temporary
/// change is relative to the first state.
fn changes(states: &[State], split: &[String]) -> Vec<Value> {
    let (temporary, permanent): (Vec<&State>, Vec<&State>) = states.iter().partition(|state| state.ends);
    let pairs = permanent.windows(2).map(|pair| (pair[0], pair[1]));
    let changes = pairs.chain(temporary.into_iter().map(|state| (&states[0], state)));
    let changes = changes.filter_map(|(before, state)| {
        let set = keys(split, Some(&before.without(state.always)), &state.ways);
        let set: Table = set.into_iter().map(|(key, value)| (format!("links.{LINK}.{key}"), value)).collect();
        let change = || table([("at", Value::from(state.at.as_str())), ("set", Value::Table(set.clone()))]);
        (!set.is_empty()).then(|| Value::Table(change()))
    });
    changes.collect()
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn name_of(path: &Path) -> Result<Value, String> {
    path.to_str()
        .map(Value::from)
        .ok_or_else(|| format!("--trace: {}: the path is not UTF-8", path.display()))
}
