//! A scenario whose keys can be set while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lasthop_config::words::did_you_mean;
use lasthop_config::{Disk, Document, FileError};

use super::changes::{of_directions, problem_with_change};
use super::groups::Groups;
use super::named_files::{FurtherFiles, NamedFiles};
use super::overrides::{self, Overrides, Since};
use super::source;
use crate::change::is_of_connections;
use crate::model::{LinkChange, Scenario};

/// A scenario file with later settings on top. The file and the files that it names are read once.
#[derive(Clone)]
pub struct Settings {
    text: String,
    name: String,
    base: PathBuf,
    overrides: Overrides,
    named_files: Arc<NamedFiles>,
    /// The scenario at the start, or when a key was last set.
    scenario: Scenario,
    /// The number of its changes that have been made since.
    made: usize,
    now: Option<Duration>,
    /// Assignments such as `links.air.loss=2%`, the latest last.
    set: Vec<String>,
}

impl Settings {
    /// Reads a scenario file, as [`super::read`] does.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, FileError> {
        let text = super::read_file(&Disk, path)?;
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut settings = Self::parse(text, super::name_of(path), base, overrides)?;
        settings.scenario.files.push(path.to_owned());
        Ok(settings)
    }

    /// Reads a scenario from text, as [`super::parse`] does.
    pub fn parse(
        text: String,
        name: String,
        base: PathBuf,
        overrides: &Overrides,
    ) -> Result<Self, FileError> {
        let named_files = Arc::new(NamedFiles::new(Arc::new(Disk)));
        let scenario = super::parse_with(&text, &name, &base, overrides, &named_files, None)?;
        let overrides = overrides.clone();
        Ok(Self { text, name, base, overrides, named_files, scenario, made: 0, now: None, set: Vec::new() })
    }

    /// The scenario at the start, or when a key was last set. Its changes are the later ones.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Advances the time, which counts from the start. Returns the keys that the file changes
    /// meanwhile, and their values, which the links keep when a key is next set.
    pub fn pass(&mut self, now: Duration) -> Vec<(String, toml::Value)> {
        let changes = &self.scenario.changes;
        let made = changes.partition_point(|change| change.at <= now).max(self.made);
        let passed = changes[self.made..made].iter().flat_map(|change| change.set.clone()).collect();
        self.made = made;
        self.now = self.now.max(Some(now));
        passed
    }

    /// Sets keys of links, such as `air.loss` or `air.forward.rate`, to values as written in a
    /// file; the quotes of a string may be left out. Sets all of them or, if one is wrong, none.
    /// Returns the scenario before this, with the changes that have been made.
    ///
    /// A file that has been read is read again only if a value names it and `further` files may be
    /// read.
    pub fn set(
        &mut self,
        assignments: &[(&str, &str)],
        further: FurtherFiles,
    ) -> Result<Scenario, FileError> {
        let of_command_line = overrides::as_toml(&self.overrides.settings)?;
        let mut document = source::parse(&self.text, self.name.clone())?;
        overrides::apply(&of_command_line, &mut document)?;
        let mut assigned = Assigned { document: Groups::expand(&document)?.0, set: self.set.clone() };
        for change in &self.scenario.changes[..self.made] {
            change.set.iter().for_each(|(key, value)| assigned.put(key, &value.to_string()));
        }
        for (key, value) in assignments {
            assigned.put(&self.full_key(key)?, value);
        }
        let set = assigned.set;

        let is_named = |path: &Path| {
            let name = path.strip_prefix(&self.base).unwrap_or(path).to_string_lossy();
            assignments.iter().any(|(_, value)| value.contains(&*name))
        };
        let is_to_be_read = |path: &Path| further != FurtherFiles::None && is_named(path);
        let named_files = self.named_files.without(is_to_be_read, further);
        let Self { text, name, base, overrides, .. } = &*self;
        let since = Since { set: overrides::as_toml(&set).map_err(as_assigned)?, passed: self.now };
        let scenario = super::parse_with(text, name, base, overrides, &named_files, Some(&since));
        let scenario = scenario.map_err(as_assigned)?;

        self.named_files = Arc::new(named_files);
        self.set = set;
        let mut before = std::mem::replace(&mut self.scenario, scenario);
        for LinkChange { link, model, .. } in before.changes.drain(..std::mem::take(&mut self.made)) {
            before.links[link] = model;
        }
        let set = assignments.iter().filter(|(key, _)| is_of_connections(key));
        for name in set.filter_map(|(key, _)| key.rsplit('.').nth(1)) {
            let of_name = before.links.iter_mut().filter(|link| link.name() == name);
            of_name.for_each(|link| *link = link.before_reset());
        }
        Ok(before)
    }

    /// The key as written in the file.
    fn full_key(&self, key: &str) -> Result<String, FileError> {
        let fail = |problem: String| FileError {
            file: key.chars().take(80).collect(),
            line: None,
            key: String::new(),
            problem,
        };
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        // The full key is also allowed.
        let steps = steps.strip_prefix(&["links"]).filter(|steps| steps.len() > 1).unwrap_or(&steps);
        let known: Vec<&str> = self.scenario.links.iter().map(crate::model::LinkModel::name).collect();
        let (link, rest) = match steps {
            [_] | [] => {
                let links = known.join(", ");
                return Err(fail(format!("no link; expected LINK.KEY, where LINK is one of: {links}")));
            }
            [link, rest @ ..] => (*link, rest),
        };
        if !known.contains(&link) {
            let meant = did_you_mean(link, &known);
            return Err(fail(format!("unknown link {link:?}{meant}; expected one of: {}", known.join(", "))));
        }
        match problem_with_change(rest, "LINK.KEY") {
            Some(problem) => Err(fail(problem)),
            None => Ok(format!("links.{}", steps.join("."))),
        }
    }
}

/// The assignments on top of a file.
struct Assigned<'t> {
    document: Document<'t>,
    set: Vec<String>,
}

impl Assigned<'_> {
    /// Sets a key. A later assignment overrides earlier ones of the link's directions and of parts
    /// of the value.
    fn put(&mut self, key: &str, value: &str) {
        let path: Vec<&str> = key.split('.').collect();
        let of_directions = of_directions(&path).into_iter().filter(|path| self.has(path));
        let of_directions: Vec<String> = of_directions.map(|path| path.join(".")).collect();
        for key in of_directions.iter().map(String::as_str).chain([key]) {
            self.set.retain(|earlier| !is_within(earlier, key));
            self.set.push(format!("{key}={value}"));
        }
    }

    /// Whether the file or an assignment has this key or a part of it.
    fn has(&self, path: &[&str]) -> bool {
        let key = path.join(".");
        self.document.has(path) || self.set.iter().any(|set| is_within(set, &key))
    }
}

/// Whether an assignment sets this key or a part of its value.
fn is_within(assignment: &str, key: &str) -> bool {
    assignment.strip_prefix(key).is_some_and(|rest| rest.starts_with(['=', '.']))
}

/// An error about an assignment, with the key as the user gave it instead of the full key.
fn as_assigned(error: FileError) -> FileError {
    match error.file.strip_prefix("--set links.") {
        Some(assignment) => FileError { file: assignment.to_owned(), ..error },
        None => error,
    }
}
