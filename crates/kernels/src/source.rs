//! The source of a kernel: an archive or a folder.

mod form;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use crate::version::Version;
use form::{Form, archive, is_kernel};

/// Where distributions put the sources of kernels.
pub const SOURCES: &str = "/usr/src";

/// How the names of sources begin: in packages of Debian and Ubuntu, and as the kernel's developers and others name
/// them.
const BEGINNINGS: [&str; 2] = ["linux-source-", "linux-"];

/// The source of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    path: PathBuf,
    form: Form,
}

/// What is not unpacked, as patterns of tar: more than half of a kernel's files, for other processors and for hardware
/// that a user-mode kernel cannot have, its tests and its documents. Files that configure the build stay.
const NOT_NEEDED: [&str; 10] = [
    "arch/[!ux]*/*.[chS]",
    "*.dts",
    "*.dtsi",
    "drivers/gpu/*.[ch]",
    "sound/*.[ch]",
    "tools/perf/*",
    "tools/testing/*",
    "Documentation/*.rst",
    "Documentation/*.txt",
    "Documentation/*.yaml",
];

/// The main makefile of a kernel has some 70 kB. The version is in its first lines.
const LARGEST_START: u64 = 16_384;

/// Why there is no source.
#[derive(Debug, Error)]
pub enum SourceError {
    /// There is neither an archive nor a folder.
    #[error("{path}: {problem}; expected the version of a kernel, a folder with a kernel's source, or an archive of one", path = path.display())]
    Path {
        /// As the user wrote it.
        path: PathBuf,
        /// The system's reason.
        problem: io::Error,
    },
    /// A file's name ends in no known way.
    #[error("{path}: expected a name that ends in .tar, .tar.xz, .tar.gz, .tar.bz2 or .tar.zst", path = .0.display())]
    Ending(PathBuf),
    /// It has something else.
    #[error("{path}: expected the source of a kernel that can be built for user mode (arch/um), with its version in Makefile", path = .0.display())]
    NoKernel(PathBuf),
    /// It has another version than it should have.
    #[error("{path}: expected kernel {wanted}; this is {found}", path = path.display())]
    OtherVersion {
        /// The source.
        path: PathBuf,
        /// What was asked for.
        wanted: Version,
        /// What it is.
        found: Version,
    },
    /// The folder of sources has other series only.
    #[error("no source of kernel {wanted} is in {folder}, which has {found}; expected one of these, or a path", folder = folder.display())]
    OtherSeries {
        /// The folder of sources.
        folder: PathBuf,
        /// What was asked for.
        wanted: Version,
        /// What is there, in words.
        found: String,
    },
    /// A program that should read it cannot be run.
    #[error("cannot run tar: {0}")]
    Tar(#[source] io::Error),
}

impl Source {
    /// The source at a path that a user gave.
    pub fn at(path: &Path) -> Result<Self, SourceError> {
        let error = |problem| SourceError::Path { path: path.to_owned(), problem };
        // Absolute, because programs read it from other folders.
        let path = fs::canonicalize(path).map_err(error)?;
        if path.is_dir() {
            if !is_kernel(&path) {
                return Err(SourceError::NoKernel(path));
            }
            return Ok(Self { path, form: Form::Folder });
        }
        match archive(&path.to_string_lossy()) {
            Some((_, form)) => Ok(Self { path, form }),
            None => Err(SourceError::Ending(path)),
        }
    }

    /// The newest source in a folder of sources, or the newest of the series of `wanted`. `None` if the
    /// folder has no source.
    pub fn installed(folder: &Path, wanted: Option<&Version>) -> Result<Option<Self>, SourceError> {
        let found = sources_in(folder);
        let fits = |named: &Version| wanted.is_none_or(|wanted| named.is_of_series_of(wanted));
        let Some((_, path)) = found.iter().rev().find(|(named, _)| fits(named)) else {
            return match (wanted, &found[..]) {
                (_, []) | (None, _) => Ok(None),
                (Some(wanted), _) => Err(SourceError::OtherSeries {
                    folder: folder.to_owned(),
                    wanted: wanted.clone(),
                    found: found.iter().map(|(named, _)| named.to_string()).collect::<Vec<_>>().join(", "),
                }),
            };
        };
        Self::at(path).map(Some)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program that unpacks it, other than tar, if one is needed.
    pub fn unpacker(&self) -> Option<&'static str> {
        match self.form {
            Form::Folder => None,
            Form::Archive(unpacker) => unpacker,
        }
    }

    /// Reads its version, which must be `wanted`.
    pub fn version(&self, wanted: Option<&Version>) -> Result<Version, SourceError> {
        let makefile = match self.form {
            Form::Folder => {
                let makefile = self.path.join("Makefile");
                start(
                    fs::File::open(&makefile)
                        .map_err(|problem| SourceError::Path { path: makefile, problem })?,
                )
            }
            Form::Archive(_) => self.makefile_of_archive().map_err(SourceError::Tar)?,
        };
        let found =
            Version::of_makefile(&makefile).ok_or_else(|| SourceError::NoKernel(self.path.clone()))?;
        match wanted {
            Some(wanted) if !found.is(wanted) => {
                Err(SourceError::OtherVersion { path: self.path.clone(), wanted: wanted.clone(), found })
            }
            _ => Ok(found),
        }
    }

    /// The start of the main makefile, without the rest of the archive; empty if it has none.
    fn makefile_of_archive(&self) -> io::Result<String> {
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--to-stdout", "--occurrence=1", "--wildcards", "--no-wildcards-match-slash"]);
        tar.arg("--file").arg(&self.path).arg("*/Makefile");
        let mut tar = tar.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let text = tar.stdout.take().map(start).unwrap_or_default();
        // It may have more to write.
        let _ = tar.kill();
        tar.wait()?;
        Ok(text)
    }

    /// The commands that put the source into the current directory. If there are two, the second reads
    /// what the first writes.
    pub(crate) fn commands_to_unpack(&self) -> (Option<Command>, Command) {
        let excluded = || NOT_NEEDED.map(|pattern| format!("--exclude={pattern}"));
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--no-same-owner"]);
        match self.form {
            Form::Archive(_) => {
                unpack.args(excluded()).arg("--strip-components=1").arg("--file").arg(&self.path);
                (None, unpack)
            }
            Form::Folder => {
                let mut pack = Command::new("tar");
                pack.arg("--create").args(excluded());
                pack.args(["--exclude-vcs", "--exclude=*.o", "--file=-", "--directory"]);
                pack.arg(&self.path).arg(".");
                unpack.arg("--file=-");
                (Some(pack), unpack)
            }
        }
    }
}

/// The start of a text. What follows is not read; an error ends it.
fn start(file: impl io::Read) -> String {
    let mut octets = Vec::new();
    // What was read before an error is kept: it may have the version.
    let _ = file.take(LARGEST_START).read_to_end(&mut octets);
    String::from_utf8_lossy(&octets).into_owned()
}

/// The sources in a folder with the versions in their names, in ascending order. A name may have the
/// series only, as Debian's.
fn sources_in(folder: &Path) -> Vec<(Version, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(Version, PathBuf)> = entries
        .filter_map(|entry| {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_str()?;
            let stem = if path.is_dir() { is_kernel(&path).then_some(name)? } else { archive(name)?.0 };
            let version =
                BEGINNINGS.iter().find_map(|beginning| stem.strip_prefix(beginning)?.parse().ok())?;
            Some((version, path))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests;
