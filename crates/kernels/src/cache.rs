//! The kernels that there are: a folder each in the user's cache.
//!
//! A folder's name has the kernel's version and the marks of its options and edits, so kernels of
//! several versions of lasthop can be there side by side. It appears when the kernel is complete.

mod record;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(crate) use record::Findings;
pub use record::Record;

use crate::recipe::Recipe;
use crate::version::{Version, VersionError};

/// The file of a kernel in its folder.
pub(crate) const KERNEL: &str = "linux";
/// The file that describes it.
pub(crate) const RECORD: &str = "kernel.json";

/// A folder of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernels {
    folder: PathBuf,
}

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    folder: PathBuf,
    record: Record,
}

/// What has changed in this version of lasthop since a kernel was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The options are others.
    pub options: bool,
    /// The edits are others.
    pub edits: bool,
}

/// Why the cache cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The environment does not say where it is.
    #[error("the user's cache is unknown: expected an absolute path in XDG_CACHE_HOME or HOME")]
    NoHome,
    /// A folder or a file of it cannot be read, written or removed.
    #[error("{path}: {problem}", path = path.display())]
    File {
        /// The folder or the file.
        path: PathBuf,
        /// The system's reason.
        problem: io::Error,
    },
}

/// Why there is no kernel to run.
#[derive(Debug, Error)]
pub enum FindError {
    /// What was asked for is not a version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The cache cannot be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// No such kernel was built.
    #[error("there is no user-mode kernel{wanted} in {folder}; `lasthop kernel build{wanted}` builds it, once, in minutes", folder = folder.display())]
    Absent {
        /// A space and the version, or nothing.
        wanted: String,
        /// The cache.
        folder: PathBuf,
    },
    /// The only such kernel was built with other options or edits.
    #[error(
        "the user-mode kernel {version} was built with other options or edits than those of this version of lasthop; `lasthop kernel build {wanted}` builds it again"
    )]
    Outdated {
        /// Its version.
        version: Version,
        /// What was asked for.
        wanted: Version,
    },
}

impl Kernels {
    /// The kernels of this user: `lasthop/kernels` in `XDG_CACHE_HOME`, by default `~/.cache` (XDG Base
    /// Directory Specification, version 0.8).
    pub fn of_user() -> Result<Self, CacheError> {
        let cache = cache_of_user(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
        Ok(Self::in_folder(&cache.ok_or(CacheError::NoHome)?.join("lasthop/kernels")))
    }

    /// The kernels in this folder, which need not exist.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All kernels, by version. A folder with something else is passed over.
    pub fn list(&self) -> Result<Vec<Kernel>, CacheError> {
        let mut kernels: Vec<Kernel> = self.folders()?.into_iter().filter_map(Kernel::in_folder).collect();
        kernels.sort_by(|one, other| one.order().cmp(&other.order()));
        Ok(kernels)
    }

    /// The newest kernel that this version of lasthop can run: of a series such as `6.12`, of one version,
    /// or of all.
    pub fn find(&self, wanted: Option<&str>) -> Result<Kernel, FindError> {
        let wanted: Option<Version> = wanted.map(str::parse).transpose()?;
        let recipe = Recipe::ours();
        let mut kernels = self.list()?;
        kernels.retain(|kernel| wanted.as_ref().is_none_or(|wanted| kernel.record.version().is(wanted)));
        let newest = kernels.last().map(|kernel| kernel.record.version().clone());
        if let Some(kernel) = kernels.into_iter().rfind(|kernel| kernel.changed(&recipe).is_nothing()) {
            return Ok(kernel);
        }
        let Some(version) = newest else {
            let wanted = wanted.map(|wanted| format!(" {wanted}")).unwrap_or_default();
            return Err(FindError::Absent { wanted, folder: self.folder.clone() });
        };
        let wanted = wanted.unwrap_or_else(|| version.series());
        Err(FindError::Outdated { version, wanted })
    }

    /// The kernel of this version and recipe.
    pub fn built(&self, version: &Version, recipe: &Recipe) -> Result<Option<Kernel>, CacheError> {
        let is_it =
            |kernel: &Kernel| kernel.record.version() == version && kernel.changed(recipe).is_nothing();
        Ok(self.list()?.into_iter().find(is_it))
    }

    /// Removes a kernel. A process that runs it is not disturbed.
    pub fn remove(&self, kernel: &Kernel) -> Result<(), CacheError> {
        let error = |problem| CacheError::File { path: kernel.folder.clone(), problem };
        fs::remove_dir_all(&kernel.folder).map_err(error)
    }

    /// The folders in the cache, without those of builds.
    fn folders(&self) -> Result<Vec<PathBuf>, CacheError> {
        let error = |problem| CacheError::File { path: self.folder.clone(), problem };
        let entries = match fs::read_dir(&self.folder) {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(error)?,
        };
        let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry.map_err(error)?.path())).collect();
        let is_of_build =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        Ok(paths?.into_iter().filter(|path| !is_of_build(path)).collect())
    }
}

impl Kernel {
    /// A complete kernel in this folder.
    pub(crate) const fn new(folder: PathBuf, record: Record) -> Self {
        Self { folder, record }
    }

    /// The one in this folder, if it was built there.
    fn in_folder(folder: PathBuf) -> Option<Self> {
        // A folder may vanish meanwhile.
        let text = fs::read_to_string(folder.join(RECORD)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        let is_its = folder.file_name() == Some(record.name_of_folder().as_ref());
        (is_its && folder.join(KERNEL).is_file()).then_some(Self { folder, record })
    }

    /// The one of this file, in whatever cache; `None` if lasthop did not build it.
    pub fn of_file(file: &Path) -> Option<Self> {
        let file = file.canonicalize().ok()?;
        Self::in_folder(file.parent()?.to_owned()).filter(|kernel| kernel.path() == file)
    }

    /// Its name among all kernels: the version, and the marks of options and edits.
    pub fn name(&self) -> String {
        self.record.name_of_folder()
    }

    /// The program to run.
    pub fn path(&self) -> PathBuf {
        self.folder.join(KERNEL)
    }

    /// What is known of it.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// What is different from this recipe.
    pub fn changed(&self, recipe: &Recipe) -> Changed {
        let [options, edits] = self.record.marks();
        Changed { options: options != recipe.mark_of_options(), edits: edits != recipe.mark_of_edits() }
    }

    fn order(&self) -> (&Version, u64) {
        (self.record.version(), self.record.built_unix_s())
    }
}

impl Changed {
    /// Whether the kernel is as it would be built now.
    pub const fn is_nothing(self) -> bool {
        !self.options && !self.edits
    }
}

/// The user's cache, from the values of `XDG_CACHE_HOME` and `HOME`. A relative path is ignored.
fn cache_of_user(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg_cache_home).or_else(|| Some(absolute(home)?.join(".cache")))
}

#[cfg(test)]
mod tests;
