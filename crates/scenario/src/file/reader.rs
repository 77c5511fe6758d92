//! The context of reading a scenario, and the checks that its tables share: names of nodes, ranges
//! of numbers and of times, the places of errors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::groups::Groups;
use super::named_files::NamedFiles;
use super::overrides::Overrides;
use super::quantity::{LONGEST_DELAY, Text};
use crate::model::WlanStation;
use lasthop_config::words::did_you_mean;
use lasthop_config::{Document, FileError};
use lasthop_sim::NodeKind;

/// The longest name of a scenario, or of a node, link or flow in it, in characters.
pub(super) const LONGEST_NAME: usize = 64;

/// The context of reading a scenario.
pub(super) struct Reader<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) groups: &'a Groups,
    pub(super) base: &'a Path,
    pub(super) overrides: &'a Overrides,
    pub(super) named_files: &'a NamedFiles,
    /// The index and kind of each node.
    pub(super) nodes: Arc<BTreeMap<String, (usize, NodeKind)>>,
    /// The end of a run; `None` if the file has no `duration` and is for `lasthop emulate`, which
    /// runs until it is stopped, or for `lasthop try`, which has a duration of its own.
    pub(super) end: Option<Duration>,
}

/// The path of a key: the names of its tables and its own name.
pub(super) type Key<'a> = [&'a str];

impl Reader<'_> {
    /// An error about a key.
    pub(super) fn fail(&self, key: &Key<'_>, problem: impl Into<String>) -> FileError {
        self.document.error(key, problem)
    }

    /// The path of a file that the scenario names.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A duration with a default.
    pub(super) fn duration(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        default: Duration,
    ) -> Result<Duration, FileError> {
        self.duration_in(key, value, default, Duration::ZERO, Duration::MAX)
    }

    /// A duration with a default and a range.
    pub(super) fn duration_in(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        default: Duration,
        least: Duration,
        most: Duration,
    ) -> Result<Duration, FileError> {
        Ok(self.duration_if_given(key, value, least, most)?.unwrap_or(default))
    }

    /// A start time, before the run ends; default zero.
    pub(super) fn start(&self, key: &Key<'_>, value: Option<Text<Duration>>) -> Result<Duration, FileError> {
        let start = self.duration(key, value, Duration::ZERO)?;
        self.before_the_end(key, start)?;
        Ok(start)
    }

    /// Refuses a time that is not before the end of a run.
    pub(super) fn before_the_end(&self, key: &Key<'_>, at: Duration) -> Result<(), FileError> {
        let Some(end) = self.end.filter(|end| at >= *end) else { return Ok(()) };
        let [at, end] = [at, end].map(lasthop_packet::units::format_duration);
        Err(self.fail(key, format!("{at}: the run ends at {end}; expected a time before its end")))
    }

    /// A delay of packets; default zero.
    pub(super) fn delay(&self, key: &Key<'_>, value: Option<Text<Duration>>) -> Result<Duration, FileError> {
        self.duration_in(key, value, Duration::ZERO, Duration::ZERO, LONGEST_DELAY)
    }

    /// A duration with a range; `None` if it is not given.
    pub(super) fn duration_if_given(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        least: Duration,
        most: Duration,
    ) -> Result<Option<Duration>, FileError> {
        let Some(Text(duration)) = value else { return Ok(None) };
        if (least..=most).contains(&duration) {
            return Ok(Some(duration));
        }
        let shown = lasthop_packet::units::format_duration;
        let problem =
            format!("{} is out of range; expected {} to {}", shown(duration), shown(least), shown(most));
        Err(self.fail(key, problem))
    }

    /// The index of a host that a flow names.
    pub(super) fn host(&self, key: &Key<'_>, name: &str) -> Result<usize, FileError> {
        match self.node(key, name)? {
            (index, NodeKind::Host) => Ok(index),
            (_, kind) => {
                let kind = if kind == NodeKind::Router { "a router" } else { "an external node" };
                Err(self.fail(key, format!("{name:?} is {kind}; expected a host")))
            }
        }
    }

    /// The index of a node that a key names.
    pub(super) fn node(&self, key: &Key<'_>, name: &str) -> Result<(usize, NodeKind), FileError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            if let Some(members) = self.groups.members_of(name) {
                let problem = format!("{name:?} is a group of nodes; expected a single one: {members}");
                return self.fail(key, problem);
            }
            let mut known: Vec<Cow<'_, str>> = self.nodes.keys().map(|node| self.shown(node)).collect();
            known.dedup();
            let more = if known.len() > 20 { ", ..." } else { "" };
            known.truncate(20);
            let meant = did_you_mean(name, &self.nodes.keys().map(String::as_str).collect::<Vec<_>>());
            let known = known.join(", ");
            self.fail(key, format!("unknown node {name:?}{meant}; expected one of: {known}{more}"))
        })
    }

    /// The text for a node in a list of all nodes: its name, or the members of its group.
    fn shown<'n>(&self, node: &'n str) -> Cow<'n, str> {
        let members = self.groups.group_of(node).and_then(|group| self.groups.members_of(group));
        members.map_or(Cow::Borrowed(node), Cow::Owned)
    }

    /// The index, among the stations of a cell, of the one that a key names.
    pub(super) fn station(
        &self,
        key: &Key<'_>,
        name: &str,
        stations: &[WlanStation],
    ) -> Result<usize, FileError> {
        let (node, _) = self.node(key, name)?;
        let found = stations.iter().position(|station| station.node == node);
        found.ok_or_else(|| {
            self.fail(key, format!("{name:?} is not a station of this cell; expected one of its stations"))
        })
    }

    /// The members of a table in the order of the file. Checks their names, which become file names
    /// and labels.
    pub(super) fn in_order<T>(
        &self,
        table: &str,
        members: BTreeMap<String, T>,
        most: usize,
    ) -> Result<Vec<(String, T)>, FileError> {
        if members.len() > most {
            let problem = format!("{} entries; expected at most {most}", members.len());
            return Err(self.fail(&[table], problem));
        }
        for name in members.keys() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
                let problem = format!(
                    "{:?} is not a valid name; expected 1 to {LONGEST_NAME} letters, digits, - and _",
                    name.chars().take(LONGEST_NAME).collect::<String>()
                );
                return Err(self.fail(&[table, name], problem));
            }
        }
        let mut members: Vec<(String, T)> = members.into_iter().collect();
        members.sort_by_cached_key(|(name, _)| (self.document.position(&[table, name]), number(name)));
        Ok(members)
    }
}

/// The number at the end of a name. Members of a group have one place in the file, and "station-10"
/// comes after "station-9".
fn number(name: &str) -> u32 {
    name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}
