//! The inputs of a sweep as digests, which are stored with its results.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::file::named_files::{NamedFiles, digest};
use crate::file::overrides::Overrides;

/// The inputs of a sweep: a digest of each file, and the command line. With one version of the
/// program, equal inputs give equal results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    sweep: String,
    scenario: String,
    /// Names without directories, so that a directory can be moved, and digests.
    files: Vec<(String, String)>,
    settings: Vec<String>,
    trace: Option<String>,
}

impl Inputs {
    pub(super) fn new(sweep: &str, scenario: &str, files: &NamedFiles, overrides: &Overrides) -> Self {
        let files = files.digests().into_iter().map(|(path, digest)| (name(&path), shown(digest)));
        Self {
            sweep: shown(digest(sweep)),
            scenario: shown(digest(scenario)),
            files: files.collect(),
            settings: overrides.settings.clone(),
            trace: overrides.trace.as_deref().map(name),
        }
    }

    /// The first difference of two sweeps, as the end of the sentence "they differ in ..."; `None`
    /// if they are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let Self { sweep, scenario, files, settings, trace } = self;
        let what = match () {
            () if *sweep != other.sweep => "the sweep file",
            () if *scenario != other.scenario => "the scenario",
            () if *settings != other.settings => "--set",
            () if *trace != other.trace => "--trace",
            () if *files != other.files => "a file that the scenario names",
            () => return None,
        };
        Some(what.to_owned())
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn shown(digest: u64) -> String {
    format!("{digest:016x}")
}
