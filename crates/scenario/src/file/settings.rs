//! A scenario of which single keys are set anew while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lasthop_schemes::words::did_you_mean;

use super::changes::{OF_A_LINK, can_change, of_directions};
use super::error::ScenarioError;
use super::named_files::{FurtherFiles, NamedFiles};
use super::overrides::Overrides;
use crate::model::{LinkChange, Scenario};

/// A scenario file with what was set since. The file itself is read once, and so are the files that
/// it names.
#[derive(Clone)]
pub struct Settings {
    text: String,
    name: String,
    base: PathBuf,
    /// With what was set since, last.
    overrides: Overrides,
    named_files: Arc<NamedFiles>,
    /// The changes up to this time are among what was set.
    passed: Option<Duration>,
    scenario: Scenario,
}

impl Settings {
    /// Reads a scenario file, as [`super::read`] does.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let text = super::read_file(path)?;
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
    ) -> Result<Self, ScenarioError> {
        let named_files = Arc::new(NamedFiles::default());
        let scenario = super::parse_with(&text, &name, &base, overrides, &named_files, None)?;
        Ok(Self { text, name, base, overrides: overrides.clone(), named_files, passed: None, scenario })
    }

    /// The scenario as it is set now.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Sets keys of links: each a key such as `air.loss` or `air.forward.rate`, and its value as
    /// the file would have it, where the quotes of a string may be left out. All of them or, if one
    /// is wrong, none. Returns the scenario as it was before.
    ///
    /// Files that have been read are not read again, unless a value names them and `further` files
    /// may be read.
    pub fn set(
        &mut self,
        assignments: &[(&str, &str)],
        further: FurtherFiles,
    ) -> Result<Scenario, ScenarioError> {
        let mut overrides = self.overrides.clone();
        for (key, value) in assignments {
            self.put(&mut overrides, &self.full_key(key)?, value);
        }
        let is_named = |path: &Path| {
            let name = path.strip_prefix(&self.base).unwrap_or(path).to_string_lossy();
            assignments.iter().any(|(_, value)| value.contains(&*name))
        };
        let is_to_be_read = |path: &Path| further != FurtherFiles::None && is_named(path);
        let named_files = self.named_files.but(is_to_be_read, further);
        let Self { text, name, base, passed, .. } = &*self;
        let scenario = super::parse_with(text, name, base, &overrides, &named_files, *passed);
        let scenario = scenario.map_err(as_assigned)?;
        self.overrides = overrides;
        self.named_files = Arc::new(named_files);
        Ok(std::mem::replace(&mut self.scenario, scenario))
    }

    /// Makes the changes that the file has for the time up to `now`, from the start on: they are part
    /// of what the links are, and no longer to come. Returns their keys and values.
    pub fn pass(&mut self, now: Duration) -> Result<Vec<(String, toml::Value)>, ScenarioError> {
        let has_passed = |change: &&LinkChange| change.at <= now;
        let passed: Vec<LinkChange> = self.scenario.changes.iter().take_while(has_passed).cloned().collect();
        if passed.is_empty() {
            return Ok(Vec::new());
        }
        let set: Vec<_> = passed.into_iter().flat_map(|change| change.set).collect();
        let mut overrides = self.overrides.clone();
        for (key, value) in &set {
            self.put(&mut overrides, key, &value.to_string());
        }
        let Self { text, name, base, named_files, .. } = &*self;
        self.scenario = super::parse_with(text, name, base, &overrides, named_files, Some(now))?;
        self.overrides = overrides;
        self.passed = Some(now);
        Ok(set)
    }

    /// Sets a key. What is set later holds: a direction has no value of its own any more.
    fn put(&self, overrides: &mut Overrides, key: &str, value: &str) {
        let path: Vec<&str> = key.split('.').collect();
        let of_directions = of_directions(&path).into_iter().map(|path| path.join("."));
        let of_directions: Vec<String> = of_directions.filter(|key| self.has(key, overrides)).collect();
        for key in of_directions.iter().map(String::as_str).chain([key]) {
            let assigns = format!("{key}=");
            overrides.settings.retain(|earlier| !earlier.starts_with(&assigns));
            overrides.settings.push(assigns + value);
        }
    }

    /// Whether the file, or what was set since, has this key.
    fn has(&self, key: &str, overrides: &Overrides) -> bool {
        let assigns = format!("{key}=");
        if overrides.settings.iter().any(|setting| setting.starts_with(&assigns)) {
            return true;
        }
        let Ok(file) = self.text.parse::<toml::Table>() else { return false };
        let mut steps = key.split('.');
        let first = steps.next().and_then(|step| file.get(step));
        steps.fold(first, |value, step| value.and_then(|value| value.get(step))).is_some()
    }

    /// The key as the file has it.
    fn full_key(&self, key: &str) -> Result<String, ScenarioError> {
        let fail = |problem: String| ScenarioError {
            file: key.chars().take(80).collect(),
            line: None,
            key: String::new(),
            problem,
        };
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        // The whole key, as the file has it, does as well.
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
        if let [direction, _, ..] = rest
            && !can_change(rest)
            && !OF_A_LINK.contains(direction)
        {
            let problem = format!("unknown direction {direction:?}; expected forward or backward");
            return Err(fail(problem));
        }
        if !can_change(rest) {
            let meant = rest.last().map_or_else(String::new, |key| did_you_mean(key, &OF_A_LINK));
            return Err(fail(format!(
                "cannot be changed while the link is in use{meant}; expected LINK.KEY, where KEY is one of: {}",
                OF_A_LINK.join(", ")
            )));
        }
        Ok(format!("links.{}", steps.join(".")))
    }
}

/// An error about a value that was set: the file would have the whole key.
fn as_assigned(error: ScenarioError) -> ScenarioError {
    match error.file.strip_prefix("--set links.") {
        Some(assignment) => ScenarioError { file: assignment.to_owned(), ..error },
        None => error,
    }
}
