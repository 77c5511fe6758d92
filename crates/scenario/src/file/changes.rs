//! Changes of links at given times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::link;
use super::quantity::Text;
use super::reader::Reader;
use super::source;
use super::when::When;
use crate::model::{LinkChange, LinkInterval, LinkModel, Property};
use lasthop_config::words::did_you_mean;
use lasthop_config::{Document, FileError};
use lasthop_packet::units::format_duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// The maximum number of changes.
const MAX_CHANGES: usize = 10_000;
/// The maximum number of those that end again: each beginning and end checks all of them.
const MAX_INTERVALS: usize = 100;

/// The keys of a link that can change while packets are on it, for both directions or for one.
const OF_A_LINK: [&str; 16] = [
    "rate",
    "delay",
    "jitter",
    "jitter-distribution",
    "delay-correlation",
    "order",
    "reorder",
    "loss",
    "duplicate",
    "corrupt",
    "queue",
    "channel",
    "trace",
    "only",
    "except",
    "connections",
];

/// Whether a key of a link, without the link's name, can change.
fn can_change(key: &[&str]) -> bool {
    matches!(key, ["forward" | "backward", what, ..] | [what, ..] if OF_A_LINK.contains(what))
}

/// The other keys of a link.
const FIXED: [&str; 6] = ["between", "kind", "clock", "link-layer", "cell", "mac"];

/// The problem with changing a key of a link, given without the link's name; `None` if it can
/// change. `place` is the form of a full key, such as `LINK.KEY`.
pub(super) fn problem_with_change(key: &[&str], place: &str) -> Option<String> {
    let what = match key {
        _ if can_change(key) => return None,
        ["forward" | "backward", name, ..] | [name, ..] if FIXED.contains(name) => {
            "cannot be changed while the link is in use".to_owned()
        }
        [direction, name, ..] if OF_A_LINK.contains(name) => {
            let meant = did_you_mean(direction, &["forward", "backward"]);
            return Some(format!(
                "unknown direction {direction:?}{meant}; expected forward or backward; `emulate set` also takes down and up"
            ));
        }
        ["forward" | "backward"] | [] => "no key".to_owned(),
        ["forward" | "backward", name, ..] | [name, ..] => {
            format!("unknown key {name:?}{}", did_you_mean(name, &OF_A_LINK))
        }
    };
    Some(format!("{what}; expected {place}, where KEY is one of: {}", OF_A_LINK.join(", ")))
}

/// The paths of a key in the tables of the two directions, for the path of a key of the link, such
/// as `links`, `air`, `loss`.
pub(super) fn of_directions<'a>(path: &[&'a str]) -> Vec<Vec<&'a str>> {
    match path {
        ["links", _, "forward" | "backward", ..] => Vec::new(),
        ["links", link, rest @ ..] => {
            ["forward", "backward"].map(|way| [&["links", *link, way], rest].concat()).to_vec()
        }
        _ => Vec::new(),
    }
}

/// Changes of links at one time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ChangeTable {
    /// When the changes take effect, from the start of the run and before its end ("5 s"); with a
    /// length if they end again ("5 s for 1 s"), and with a period if they repeat ("every 15 s for 1 s",
    /// first after 15 s; or "5 s every 15 s for 1 s"). Then what held before, or was set meanwhile,
    /// holds again.
    at: Text<When>,
    /// Keys of links, such as "links.air.delay", with their values from then on. These can change:
    /// rate, trace, delay, jitter, jitter-distribution, delay-correlation, order, reorder, loss, duplicate, corrupt, queue
    /// (except its discipline), of both directions or of one; channel, only, except and connections, of a link.
    // Read from the document, each with its place.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    set: BTreeMap<String, toml::Value>,
}

/// Reads the changes that do not end again, in order of time; with `after`, only those after this
/// time. Each change is made on top of those before it.
pub(super) fn read(
    reader: &Reader<'_>,
    tables: &[ChangeTable],
    links: &[LinkModel],
    after: Option<Duration>,
) -> Result<Vec<LinkChange>, FileError> {
    if tables.len() > MAX_CHANGES {
        let problem = format!("{} changes; expected at most {MAX_CHANGES}", tables.len());
        return Err(reader.fail(&["changes"], problem));
    }
    let indices: BTreeMap<&str, usize> =
        links.iter().enumerate().map(|(index, link)| (link.name(), index)).collect();
    let is_to_come = |(_, table): &(usize, &ChangeTable)| {
        let When { first, length, .. } = table.at.0;
        length.is_none() && after.is_none_or(|after| first > after)
    };
    let mut by_time: Vec<(usize, &ChangeTable)> = tables.iter().enumerate().filter(is_to_come).collect();
    by_time.sort_by_key(|(_, table)| table.at.0.first);
    let mut timeline = Timeline { reader, document: reader.document.clone() };
    let mut changes: Vec<LinkChange> = Vec::new();
    let mut latest: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, table) in by_time {
        let Text(When { first: at, .. }) = table.at;
        reader.before_the_end(&["changes", &number.to_string(), "at"], at)?;
        for (name, set) in timeline.set(number, table)? {
            let Some(&link) = indices.get(name.as_str()) else { continue };
            let model = timeline.link(&format!("with the changes up to {}", format_duration(at)), &name)?;
            let before = latest.get(&link).map_or(&links[link], |change| &changes[*change].model);
            if let Err(problem) = before.check_change(&model) {
                let key = ["changes", &number.to_string(), "set"];
                return Err(reader.fail(&key, format!("link {name:?}: {problem}")));
            }
            latest.insert(link, changes.len());
            changes.push(LinkChange { at, link, model, set });
        }
    }
    Ok(changes)
}

/// Reads the changes that end again, in order of their first beginnings. Each is made on top of the
/// file without other changes.
pub(super) fn read_intervals(
    reader: &Reader<'_>,
    tables: &[ChangeTable],
    links: &[LinkModel],
) -> Result<Vec<LinkInterval>, FileError> {
    let mut intervals = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let Text(When { first, length: Some(length), period }) = table.at else { continue };
        let place = number.to_string();
        reader.before_the_end(&["changes", &place, "at"], first)?;
        if intervals.len() >= MAX_INTERVALS {
            let problem =
                format!("more than {MAX_INTERVALS} changes of a link that end again; expected fewer");
            return Err(reader.fail(&["changes", &place, "at"], problem));
        }
        let mut timeline = Timeline { reader, document: reader.document.clone() };
        for (name, set) in timeline.set(number, table)? {
            let Some((link, model)) = links.iter().enumerate().find(|(_, link)| link.name() == name) else {
                continue;
            };
            let within = timeline.link("with this change", &name)?;
            if let Err(problem) = model.check_change(&within) {
                return Err(reader.fail(&["changes", &place, "set"], format!("link {name:?}: {problem}")));
            }
            let properties: BTreeSet<Property> = set.iter().filter_map(|(key, _)| property(key)).collect();
            refuse_mixed(reader, tables, (number, &name), &properties)?;
            intervals.push(LinkInterval { link, within, properties, first, length, period });
        }
    }
    intervals.sort_by_key(|interval: &LinkInterval| interval.first);
    Ok(intervals)
}

/// Refuses changes of different keys of one property, such as delay and jitter, if one of them ends
/// again: the keys depend on each other.
fn refuse_mixed(
    reader: &Reader<'_>,
    tables: &[ChangeTable],
    (number, link): (usize, &str),
    properties: &BTreeSet<Property>,
) -> Result<(), FileError> {
    let keys = |table: &ChangeTable, wanted: Property| -> BTreeSet<String> {
        let of_link = |key: &&String| source::path(key).get(1).is_some_and(|name| *name == link);
        let of_property = table.set.keys().filter(of_link).filter(|key| property(key) == Some(wanted));
        of_property.filter_map(|key| own_key(key).map(str::to_owned)).collect()
    };
    for wanted in properties {
        let own = keys(&tables[number], *wanted);
        let differs = |table: &&ChangeTable| {
            let others = keys(table, *wanted);
            !others.is_empty() && others != own
        };
        if let Some(other) = tables.iter().find(differs) {
            let list = |keys: BTreeSet<String>| keys.into_iter().collect::<Vec<_>>().join(", ");
            let problem = format!(
                "{} of link {link:?} is changed for a time, and {} by another change; expected the same keys in both, \
                 because they depend on each other",
                list(own),
                list(keys(other, *wanted))
            );
            return Err(reader.fail(&["changes", &number.to_string(), "set"], problem));
        }
    }
    Ok(())
}

/// The key of a property, such as `delay` of `links.air.forward.delay.min`.
fn own_key(key: &str) -> Option<&str> {
    OF_A_LINK.into_iter().find(|known| match source::path(key)[..] {
        ["links", _, "forward" | "backward", what, ..] | ["links", _, what, ..] => what == *known,
        _ => false,
    })
}

/// The property to which a key belongs.
fn property(key: &str) -> Option<Property> {
    Some(match own_key(key)? {
        "rate" | "trace" => Property::Capacity,
        "loss" => Property::Loss,
        "duplicate" | "corrupt" => Property::Faults,
        "queue" => Property::Queue,
        "channel" => Property::Channel,
        "only" | "except" => Property::Selection,
        "connections" => Property::Cut,
        _ => Property::Delay,
    })
}

/// The keys of links, then those of their directions, which the former would otherwise replace.
fn links_first(set: &BTreeMap<String, toml::Value>) -> impl Iterator<Item = (&String, &toml::Value)> {
    let is_of_a_direction = |key: &str| matches!(source::path(key)[..], [_, _, "forward" | "backward", ..]);
    let (of_directions, of_links): (Vec<_>, Vec<_>) = set.iter().partition(|(key, _)| is_of_a_direction(key));
    of_links.into_iter().chain(of_directions)
}

/// Keys of links and their values.
type Set = Vec<(String, toml::Value)>;

/// The file with all changes up to a time.
struct Timeline<'a, 'd> {
    reader: &'a Reader<'d>,
    document: Document<'d>,
}

impl Timeline<'_, '_> {
    /// Makes the changes of a table. Returns them by the names of links.
    fn set(&mut self, number: usize, table: &ChangeTable) -> Result<BTreeMap<String, Set>, FileError> {
        let number = number.to_string();
        let mut changed: BTreeMap<String, Set> = BTreeMap::new();
        for (key, value) in links_first(&table.set) {
            let place = ["changes", &number, "set", key];
            let path = source::path(key);
            let ["links", name, rest @ ..] = path.as_slice() else {
                return Err(self
                    .reader
                    .fail(&place, "expected links.NAME.KEY, in quotes: \"links.air.delay\" = \"6 s\""));
            };
            if let Some(problem) = source::names_nothing(&self.document, &path) {
                return Err(self.reader.fail(&place, problem));
            }
            if let Some(problem) = problem_with_change(rest, &format!("links.{name}.KEY")) {
                return Err(self.reader.fail(&place, problem));
            }
            // A later value overrides those of the link's directions.
            let of_directions = of_directions(&path).into_iter().filter(|path| self.document.has(path));
            for path in of_directions.chain([path.clone()]).collect::<Vec<_>>() {
                self.document.replace_from(self.reader.document, &place, &path)?;
            }
            changed.entry((*name).to_owned()).or_default().push((path.join("."), value.clone()));
        }
        Ok(changed)
    }

    /// A link with the changes so far. `when` begins the message of an error.
    fn link(&self, when: &str, name: &str) -> Result<LinkModel, FileError> {
        let reader = Reader { document: &self.document, nodes: self.reader.nodes.clone(), ..*self.reader };
        let table = self.document.deserialize_at(&["links", name]);
        table
            .and_then(|table| link::read(&reader, name, table))
            .map_err(|error| FileError { problem: format!("{when}: {}", error.problem), ..error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_link_can_change_or_is_known_to_be_fixed() {
        let schema = super::super::scenario_schema();
        let keys = schema["$defs"]["LinkTable"]["properties"].as_object().expect("a table");
        let known = OF_A_LINK.into_iter().chain(FIXED).chain(["forward", "backward"]);
        let known: BTreeSet<&str> = known.collect();
        assert_eq!(keys.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    }

    #[test]
    fn what_cannot_be_changed_is_refused_with_the_reason() {
        let problem = |key: &[&str]| problem_with_change(key, "LINK.KEY").expect("it cannot change");
        for (key, expected) in [
            (
                &["dealy"][..],
                "unknown key \"dealy\" (did you mean \"delay\"?); expected LINK.KEY, where KEY is",
            ),
            (&["forward", "los"], "unknown key \"los\" (did you mean \"loss\"?); expected LINK.KEY"),
            (
                &["forwardd", "loss"],
                "unknown direction \"forwardd\" (did you mean \"forward\"?); expected forward",
            ),
            (&["clock"], "cannot be changed while the link is in use; expected LINK.KEY"),
            (&["link-layer", "attempts"], "cannot be changed while the link is in use"),
            (&["forward"], "no key; expected LINK.KEY"),
        ] {
            assert!(problem(key).starts_with(expected), "{}", problem(key));
        }
        assert_eq!(problem_with_change(&["backward", "queue", "limit"], "LINK.KEY"), None);
    }
}
