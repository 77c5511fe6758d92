//! Loads a scenario that is ready to run from a path and the options of the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use clap::builder::{StringValueParser, TypedValueParser};
use lasthop_config::FileError;
use lasthop_config::text::name_of;
use lasthop_config::words::did_you_mean;
use lasthop_packet::units::format_duration;
use lasthop_scenario::{Overrides, Scenario, SchemeChoice, file};
use lasthop_schemes::SchemeError;
use lasthop_schemes::catalog::CATALOG;

use crate::data_file::{self, DataFile};
use crate::failure::Failure;
use crate::output;

/// What every command that reads a scenario can be told about it.
#[derive(Args)]
pub struct Choices {
    /// Measured capacity trace in the Mahimahi format, used by every link direction of the scenario
    /// that follows a trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

impl Choices {
    pub fn overrides(&self) -> Overrides {
        Overrides { trace: self.trace.clone(), settings: self.settings.clone() }
    }

    /// The changes that the options make, such as `links.air.loss = 3%`.
    fn changes(&self) -> Vec<String> {
        let trace = self.trace.iter().map(|trace| format!("trace = {}", trace.display()));
        let keys: Vec<&str> = self
            .settings
            .iter()
            .map(|setting| setting.split('=').next().unwrap_or_default().trim())
            .collect();
        let settings = self.settings.iter().enumerate();
        // The last of several values of a key takes effect.
        let in_force = settings.filter(|(index, _)| !keys[index + 1..].contains(&keys[*index]));
        let settings = in_force.map(|(_, setting)| match setting.split_once('=') {
            Some((key, value)) => format!("{} = {}", key.trim(), value.trim()),
            None => setting.clone(),
        });
        trace.chain(settings).collect()
    }
}

/// The contents of a file.
pub enum Loaded {
    /// A scenario in TOML.
    Scenario(Box<Scenario>),
    /// A data file of the 1997 thesis's simulator.
    DataFile(Box<DataFile>),
}

/// Reads a scenario, or a data file if its name ends in `.dat`.
pub fn any(path: &Path, choices: &Choices) -> Result<Loaded, Failure> {
    if path.extension().is_some_and(|extension| extension == "dat") {
        if choices.trace.is_some() {
            return Err(Failure::usage(anyhow!(
                "--trace is allowed only with scenarios; no link of a data file (.dat) follows a trace"
            )));
        }
        if !choices.settings.is_empty() {
            return Err(Failure::usage(anyhow!(
                "--set is allowed only with scenarios; to change a data file (.dat), edit it"
            )));
        }
        let data = data_file::read(path).map_err(Failure::usage)?;
        return Ok(Loaded::DataFile(Box::new(data)));
    }
    let scenario = file::read(path, &choices.overrides()).map_err(Failure::usage)?;
    if scenario.flows.is_empty() && scenario.sessions.is_empty() {
        let problem = "this file is a link for `lasthop emulate`; expected a scenario with at least one flow or session";
        return Err(Failure::usage(FileError::in_file(name_of(path), problem)));
    }
    Ok(Loaded::Scenario(Box::new(scenario)))
}

/// The scheme with this name: that of the scenario, with its settings there, or else that of the
/// catalog.
pub fn scheme(scenario: &Scenario, flag: &str, name: &str) -> Result<SchemeChoice, Failure> {
    if let Some(choice) = scenario.schemes.iter().find(|choice| choice.label == name) {
        return Ok(choice.clone());
    }
    SchemeChoice::new(name, toml::Table::new()).map_err(|error| match error {
        SchemeError::Unknown { .. } => {
            let mut known: Vec<&str> = CATALOG.iter().map(|scheme| scheme.name).collect();
            let labels = scenario.schemes.iter().map(|choice| choice.label.as_str());
            let own: Vec<&str> = labels.filter(|label| !known.contains(label)).collect();
            known.extend(own.into_iter().filter(|label| *label != SchemeChoice::NO_LOSS));
            let meant = did_you_mean(name, &known);
            let (known, reference) = (known.join(", "), SchemeChoice::ABOUT_NO_LOSS);
            Failure::usage(anyhow!(
                "{flag}: unknown scheme {name:?}{meant}; expected one of: {known}; {reference}"
            ))
        }
        other @ (SchemeError::Settings { .. }
        | SchemeError::Senders { .. }
        | SchemeError::Receivers { .. }) => Failure::usage(other),
    })
}

/// A name in the list of `--schemes`, which may have spaces after its commas.
pub fn scheme_name() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|name| name.trim().to_owned())
}

/// Removes all other schemes from the scenario, and puts these in this order. The baseline stays
/// the same if it is among them; else the first scheme becomes the baseline.
pub fn keep_schemes(scenario: &mut Scenario, names: &[String]) -> Result<(), Failure> {
    let baseline = scenario.schemes[scenario.baseline].label.clone();
    let mut kept: Vec<SchemeChoice> = Vec::new();
    for name in names {
        if kept.iter().any(|choice| choice.label == *name) {
            return Err(Failure::usage(anyhow!(
                "--schemes: {name:?} is listed twice; expected each scheme once"
            )));
        }
        kept.push(scheme(scenario, "--schemes", name)?);
    }
    scenario.baseline = kept.iter().position(|choice| choice.label == baseline).unwrap_or(0);
    scenario.schemes = kept;
    Ok(())
}

/// Prints a note about each of these rows whose scheme has no effect in the scenario.
pub fn note_idle_schemes<'a>(
    scenario: &Scenario,
    rows: impl IntoIterator<Item = &'a SchemeChoice>,
) -> Result<(), Failure> {
    let mut notes = BTreeSet::new();
    for row in rows {
        notes.extend(scenario.idle_schemes(row).map_err(Failure::usage)?);
    }
    for note in notes {
        output::complain(&format!("note: {note}"));
    }
    Ok(())
}

/// The part of a heading about the warm-up; empty without one.
pub fn warm_up(scenario: &Scenario) -> String {
    match scenario.warm_up {
        Duration::ZERO => String::new(),
        warm_up => format!(", the first {} left out", format_duration(warm_up)),
    }
}

/// A heading with the scenario's name and description, and the changes of the command line, which
/// the description does not include.
pub fn title(scenario: &Scenario, choices: &Choices) -> String {
    let title = match scenario.description.trim() {
        "" => scenario.name.clone(),
        description => format!("{}: {description}", scenario.name),
    };
    match choices.changes().join(", ") {
        changes if changes.is_empty() => title,
        changes => format!("{title}\nwith {changes}"),
    }
}
