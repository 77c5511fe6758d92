//! The scenario format: TOML, with quantities as strings that carry their unit.
//!
//! | module | what is in it |
//! |---|---|
//! | [`sweep`] | [`Sweep`]: a scenario with swept parameters |
//! | [`Settings`] | a scenario of which single keys are set anew while it runs |
//! | [`schema`] | the JSON schema of the format |
//! | `scenario` | the file as a whole, from its tables to a [`Scenario`] |
//! | `node`, `link`, `wlan`, `routes` | the network: tables, and how they become models |
//! | `channel` | the error process of a wireless link or of a cell |
//! | `traffic`, `application`, `transport`, `tcp` | flows: what they have to send, and what carries it |
//! | `sessions` | sessions: what hosts say to each other |
//! | `lineup`, `seeds` | the rows of the comparison, and how often each runs |
//! | `trial` | how `lasthop try` runs the flows |
//! | `check` | what shows in the whole scenario only |
//! | `reader` | what these share: names, ranges, the place of an error |
//! | `named` | tables of which one key may stand alone |
//! | `quantity` | values that are written as text |
//! | `overrides` | what the command line says instead of the file |
//! | `source`, `groups` | the document before its tables are read; groups of nodes |
//! | `changes` | changes of links at given times |
//! | `named_files`, `delay_table` | files that a scenario names |
//! | `digest` | whether a file has changed |
//!
//! `scenarios/README.md` explains the format to its users. A table stands in the file that reads
//! it; the doc comments of its keys are the reference, and reach editors through the JSON schema.

mod application;
mod changes;
mod channel;
mod check;
mod delay_table;
mod digest;
mod groups;
mod lineup;
mod link;
mod named;
mod named_files;
mod node;
mod overrides;
mod pair;
mod quantity;
mod reader;
mod routes;
mod scenario;
pub mod schema;
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

use crate::model::Scenario;

pub use named_files::FurtherFiles;
pub use overrides::Overrides;
pub use settings::Settings;
pub use sweep::Sweep;
pub use when::When;

use named_files::NamedFiles;
use overrides::Since;

/// Reads a scenario file. Files that it names are looked for beside it.
///
/// The result is ready to run: it has been checked under each of its schemes with the first of
/// its seeds.
pub fn read(path: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    read_from(Arc::new(Disk), path, overrides)
}

/// The same from the disk or from memory: the scenario, and all files that it names.
pub fn read_from(files: Arc<dyn Files>, path: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    let text = read_file(&*files, path)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let named_files = NamedFiles::new(files);
    let mut scenario = parse_with(&text, &name_of(path), base, overrides, &named_files, None)?;
    scenario.files.push(path.to_owned());
    Ok(scenario)
}

/// Reads a scenario from text. `name` is what errors call the file, and without its extension the
/// scenario's name unless it has one; files that the scenario names are looked for in `base`, on the
/// disk.
pub fn parse(text: &str, name: &str, base: &Path, overrides: &Overrides) -> Result<Scenario, FileError> {
    parse_with(text, name, base, overrides, &NamedFiles::new(Arc::new(Disk)), None)
}

/// The same with files that may have been read before; `since`: what has happened since the first
/// reading.
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
    scenario::read(&document, base, overrides, named_files, since)
}
