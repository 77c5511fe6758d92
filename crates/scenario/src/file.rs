//! The scenario format: TOML, with quantities as strings that carry their unit.
//!
//! | module | what is in it |
//! |---|---|
//! | [`error`] | [`ScenarioError`]: file, line, key, and what was expected |
//! | [`sweep`] | [`Sweep`]: a scenario with swept parameters |
//! | [`Settings`] | a scenario of which single keys are set anew while it runs |
//! | [`schema`] | the JSON schema of the format |
//! | `tables` | the tables of a file, as serde reads them |
//! | `named` | tables of which one key may stand alone |
//! | `choice` | keys that take a string or a table, a number or a list |
//! | `quantity` | values that are written as text |
//! | `overrides` | a key with a value from the command line |
//! | [`document`] | where each key stands in its file; other configuration files use it, too |
//! | `text` | files before they are parsed, their lines |
//! | `application` | what a flow has to send, and when |
//! | `reader`, `link`, `wlan`, `routes`, `traffic`, `trial`, `lineup`, `flavour` | from tables to a [`Scenario`]: names become indices, defaults are filled in |
//!
//! `scenarios/README.md` explains the format to its users; the doc comments in `tables` are the
//! reference, and reach editors through the JSON schema.

mod application;
mod choice;
pub mod document;
pub mod error;
mod flavour;
mod lineup;
mod link;
mod named;
mod overrides;
mod quantity;
mod reader;
mod routes;
pub mod schema;
mod settings;
pub mod sweep;
mod tables;
mod text;
mod trace;
mod traffic;
mod trial;
mod wlan;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::model::Scenario;

pub use error::ScenarioError;
pub use settings::Settings;
pub use sweep::{Point, Sweep};
pub use text::read_file;

use document::Document;
use trace::Traces;

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A capacity trace in the Mahimahi format, for every link direction whose rate follows one;
    /// relative to the working directory.
    pub trace: Option<PathBuf>,
    /// Keys with values to put in the place of the file's, such as `links.air.loss=3%`; later ones
    /// win.
    pub settings: Vec<String>,
}

/// Reads a scenario file. Files that it names are looked for beside it.
///
/// What it returns is ready to run: it has been checked under each of its schemes with the first of
/// its seeds.
pub fn read(path: &Path, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    let text = read_file(path)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let mut scenario = parse(&text, &path.display().to_string(), base, overrides)?;
    scenario.files.push(path.to_owned());
    Ok(scenario)
}

/// Reads a scenario from text. `name` is what errors call the file, and without its extension the
/// scenario's name unless it has one; files that the scenario names are looked for in `base`.
pub fn parse(text: &str, name: &str, base: &Path, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    let settings = overrides::as_toml(&overrides.settings)?;
    let mut document = Document::parse(text, name.to_owned())?;
    overrides::apply(&settings, &mut document)?;
    reader::read(&document, base, overrides, &Traces::default())
}
