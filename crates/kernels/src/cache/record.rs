//! What is known of a kernel in the cache.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::recipe::{Mark, Recipe};
use crate::version::Version;

/// What is known of a kernel: the content of its JSON file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: Version,
    options: Mark,
    edits: Mark,
    edits_left_out: Vec<String>,
    source: PathBuf,
    compiler: String,
    octets: u64,
    objects: u32,
    built_unix_s: u64,
}

/// What a build found out of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// The names of edits that the kernel does not need.
    pub edits_left_out: Vec<String>,
    /// The first line that the compiler says of its version.
    pub compiler: String,
    /// The size of the kernel's file.
    pub octets: u64,
    /// How many files were compiled.
    pub objects: u32,
    /// When it was built, in seconds since 1970.
    pub built_unix_s: u64,
}

impl Record {
    pub(crate) fn new(version: Version, recipe: &Recipe, source: &Path, findings: Findings) -> Self {
        let Findings { edits_left_out, compiler, octets, objects, built_unix_s } = findings;
        let (options, edits) = (recipe.mark_of_options(), recipe.mark_of_edits());
        let source = source.to_owned();
        Self { version, options, edits, edits_left_out, source, compiler, octets, objects, built_unix_s }
    }

    /// The kernel's version.
    pub const fn version(&self) -> &Version {
        &self.version
    }

    /// The marks of its options and of its edits.
    pub const fn marks(&self) -> [Mark; 2] {
        [self.options, self.edits]
    }

    /// Edits that were left out, because this version of the kernel does not need them.
    pub fn edits_left_out(&self) -> &[String] {
        &self.edits_left_out
    }

    /// The source that it was built from.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The compiler that built it.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// The size of its file.
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// How many files were compiled.
    pub const fn objects(&self) -> u32 {
        self.objects
    }

    /// When it was built, in seconds since 1970.
    pub const fn built_unix_s(&self) -> u64 {
        self.built_unix_s
    }

    /// The name of its folder in the cache.
    pub(crate) fn name_of_folder(&self) -> String {
        format!("{}-{}-{}", self.version, self.options, self.edits)
    }
}
