//! A scenario of which single keys are set anew while it runs.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::error::ScenarioError;
use super::trace::Traces;
use super::{Overrides, reader, text};
use crate::model::Scenario;

/// A scenario file with what was set since. The file itself is read once.
pub struct Settings {
    text: String,
    name: String,
    base: PathBuf,
    overrides: Overrides,
    traces: Traces,
    /// Each as the path of a key and a document of one line that has its value.
    set: Vec<(Vec<String>, String)>,
    scenario: Scenario,
}

/// What can change of a link, and what is different in one direction.
const OF_A_LINK: [&str; 8] =
    ["rate", "delay", "jitter", "jitter-distribution", "loss", "queue", "channel", "trace"];

impl Settings {
    /// Reads a scenario file, as [`super::read`] does.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let text = text::read_file(path)?;
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(text, path.display().to_string(), base, overrides)
    }

    /// Reads a scenario from text, as [`super::parse`] does.
    pub fn parse(
        text: String,
        name: String,
        base: PathBuf,
        overrides: &Overrides,
    ) -> Result<Self, ScenarioError> {
        let traces = Traces::default();
        let document = Document::parse(&text, name.clone())?;
        let scenario = reader::read(&document, &base, overrides, &traces)?;
        Ok(Self { text, name, base, overrides: overrides.clone(), traces, set: Vec::new(), scenario })
    }

    /// The scenario as it is set now.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Sets keys of links: each a key such as `air.loss` or `air.forward.rate`, and its value as the file would have it, where
    /// the quotes of a string may be left out. All of them or, if one is wrong, none. Returns the scenario as it was before.
    pub fn set(&mut self, assignments: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
        let mut set = self.set.clone();
        for (key, value) in assignments {
            let path = self.path(key)?;
            set.retain(|(other, _)| *other != path);
            set.push((path, line(value)));
        }
        let scenario = self.build(&set)?;
        self.set = set;
        Ok(std::mem::replace(&mut self.scenario, scenario))
    }

    /// The path in the file of a key.
    fn path(&self, key: &str) -> Result<Vec<String>, ScenarioError> {
        let fail = |problem: String| ScenarioError {
            file: "set".to_owned(),
            line: None,
            key: key.chars().take(80).collect(),
            problem,
        };
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        let Some((link, rest)) = steps.split_first() else {
            return Err(fail("expected LINK.KEY".to_owned()));
        };
        if !self.scenario.links.iter().any(|model| model.name() == *link) {
            let known: Vec<&str> = self.scenario.links.iter().map(crate::model::LinkModel::name).collect();
            return Err(fail(format!("there is no link {link:?}; there are: {}", known.join(", "))));
        }
        let what = match rest {
            ["forward" | "backward", what] | [what, ..] => Some(what),
            [] => None,
        };
        if !what.is_some_and(|what| OF_A_LINK.contains(what)) {
            return Err(fail(format!(
                "it cannot be changed while the link is in use; expected LINK.KEY, where KEY is one of: {}",
                OF_A_LINK.join(", ")
            )));
        }
        Ok(["links"].iter().chain(&steps).map(|step| (*step).to_owned()).collect())
    }

    fn build(&self, set: &[(Vec<String>, String)]) -> Result<Scenario, ScenarioError> {
        let mut document = Document::parse(&self.text, self.name.clone())?;
        for (path, line) in set {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let source = Document::parse(line, "set".to_owned())?;
            document.replace_from(&source, &["value"], &path)?;
        }
        reader::read(&document, &self.base, &self.overrides, &self.traces)
    }
}

/// A document of one line with this value; what is no value of the format is a string.
fn line(value: &str) -> String {
    let line = format!("value = {value}");
    let alone = toml::from_str::<toml::Table>(&line).is_ok_and(|table| table.len() == 1);
    if alone { line } else { format!("value = {}", toml::Value::String(value.to_owned())) }
}
