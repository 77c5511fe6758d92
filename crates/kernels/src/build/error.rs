//! Why a build fails.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::process::ProcessError;
use crate::cache::CacheError;
use crate::edit::EditError;
use crate::options::NotTaken;
use crate::source::SourceError;
use crate::tools::Missing;
use crate::version::Version;

/// Disk space that a build requires: twice what 6.1 takes, 0.8 GB, because newer kernels are larger.
pub(super) const NEEDED_OCTETS: u64 = 1_500_000_000;

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Something that a build needs is not there.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The source is not one, or is another.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The disk is too full.
    #[error("a build requires {needed} MB in {folder} for some minutes; {free} MB are free", needed = NEEDED_OCTETS / 1_000_000, folder = folder.display())]
    Space {
        /// The cache.
        folder: PathBuf,
        /// The space there, in units of 10^6 octets.
        free: u64,
    },
    /// The kernel's makefiles do not work at this path.
    #[error("{path}: a kernel cannot be built in a folder whose path has a space or a colon; expected another one in XDG_CACHE_HOME", path = .0.display())]
    Path(PathBuf),
    /// An edit cannot be made.
    #[error("kernel {version}: {problem}; this version of lasthop cannot build it")]
    Edit {
        /// The kernel's version.
        version: Version,
        /// The reason.
        problem: EditError,
    },
    /// An option cannot be set.
    #[error("kernel {version}: {problem}; this version of lasthop cannot build it")]
    Option {
        /// The kernel's version.
        version: Version,
        /// The reason.
        problem: NotTaken,
    },
    /// A program of the build failed.
    #[error("{problem}{log}", log = log.as_ref().map(|log| format!("; all that was printed is in {}", log.display())).unwrap_or_default())]
    Process {
        /// What it printed.
        problem: ProcessError,
        /// Where the rest is, if it could be kept.
        log: Option<PathBuf>,
    },
    /// A file of the build cannot be read or written.
    #[error("{path}: {problem}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        problem: io::Error,
    },
    /// It was asked to stop.
    #[error("the build was interrupted; nothing is left of it")]
    Canceled,
}

impl From<ProcessError> for BuildError {
    fn from(problem: ProcessError) -> Self {
        match problem {
            ProcessError::Canceled => Self::Canceled,
            problem => Self::Process { problem, log: None },
        }
    }
}
