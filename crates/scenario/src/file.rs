//! The scenario format: TOML, with quantities as strings that carry their unit.
//!
//! | module | what is in it |
//! |---|---|
//! | [`sweep`] | [`Sweep`]: a scenario with swept parameters |
//! | [`Settings`] | a scenario whose keys can be set while it runs |
//! | `scenario` | reads the file into a [`Scenario`] |
//! | `node`, `link`, `wlan`, `routes` | the network: tables, and how they become models |
//! | `channel` | the error process of a wireless link or of a cell |
//! | `traffic`, `application`, `transport`, `tcp` | flows: their data and their transport |
//! | `sessions` | sessions: dialogues, calls and videos between two hosts |
//! | `lineup`, `seeds` | the rows of the comparison, and the seeds of their runs |
//! | `trial` | how `lasthop try` runs the flows |
//! | `check` | checks of the scenario as a whole |
//! | `reader` | shared by these: names, ranges, the places of errors |
//! | `named` | tables that may be written as a single name |
//! | `quantity` | values that are written as text |
//! | `overrides` | settings from the command line |
//! | `source`, `groups` | the document before its tables are read; groups of nodes |
//! | `changes` | changes of links at given times |
//! | `named_files`, `delay_table`, `floor_plan` | files that a scenario names |
//!
//! `scenarios/README.md` explains the format to its users. Each table is defined in the file that
//! reads it. The doc comments of its keys are the reference; the JSON schema contains them.

mod application;
mod changes;
mod channel;
mod check;
mod delay_table;
mod floor_plan;
mod groups;
mod lineup;
mod link;
mod named;
mod named_files;
mod nat;
mod node;
mod overrides;
mod pair;
mod quantity;
mod reader;
mod routes;
mod scenario;
mod seeds;
mod sessions;
mod settings;
mod source;
pub mod sweep;
mod tcp;
mod traffic;
mod transport;
mod trial;
mod when;
mod wlan;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use lasthop_config::text::{name_of, read_file};
use lasthop_config::{Disk, FileError, Files};
use serde_json::Value;

use crate::model::Scenario;

pub use named_files::FurtherFiles;
pub use overrides::Overrides;
pub use settings::Settings;
pub use sweep::Sweep;
pub use when::When;

use named_files::NamedFiles;
use overrides::Since;
use scenario::ScenarioFile;
use sweep::SweepFile;

/// The JSON schema of a scenario file, for editors: keys, units, the schemes and their settings.
/// `scenarios/scenario.schema.json` contains it.
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// The JSON schema of a sweep, for editors. `scenarios/sweep.schema.json` contains it.
pub fn sweep_schema() -> Value {
    schemars::schema_for!(SweepFile).to_value()
}

/// Reads a scenario file. The paths of files that it names are relative to its directory.
///
/// The scenario has been checked under each of its schemes with its first seed.
pub fn read(path: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    read_from(Arc::new(Disk), path, overrides)
}

/// The same as [`read`], with the scenario and all files that it names from the disk or from
/// memory.
pub fn read_from(files: Arc<dyn Files>, path: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    let text = read_file(&*files, path)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let named_files = NamedFiles::new(files);
    let mut scenario = parse_with(&text, &name_of(path), base, overrides, &named_files, None)?;
    scenario.files.push(path.to_owned());
    Ok(scenario)
}

/// Reads a scenario from text. `name` is the name of the file in errors; without its extension it
/// is the default for the scenario's name. Paths of files that the scenario names are relative to
/// `base`, on the disk.
pub fn parse(text: &str, name: &str, base: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    parse_with(text, name, base, overrides, &NamedFiles::new(Arc::new(Disk)), None)
}

/// The same as [`parse`], with a cache of the files that the scenario names. `since` has the
/// settings and changes after the first reading.
fn parse_with(
    text: &str,
    name: &str,
    base: &Path,
    overrides: &Overrides,
    named_files: &NamedFiles,
    since: Option<&Since>,
) -> Result<Scenario, FileError> {
    let settings = overrides::as_toml(&overrides.settings)?;
    let mut document = source::parse(text, name.to_owned())?;
    overrides::apply(&settings, &mut document)?;
    trial::check_kernels(&document)?;
    scenario::read(&document, base, overrides, named_files, since)
}
