//! The temporary folder of a build.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

/// How the names of such folders begin.
const PREFIX: &str = ".build-";

/// A temporary folder in the cache, which is removed with this value. It is locked for as long, so that
/// later builds recognize what a build that was killed has left.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
    _lock: File,
}

impl Folder {
    /// Creates one in the cache, an absolute path.
    pub(super) fn create(cache: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache)?;
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let folder = Self { folder, _lock: lock };
        fs::create_dir(folder.source())?;
        fs::create_dir(folder.temporary())?;
        Ok(folder)
    }

    /// Where the source is unpacked and compiled.
    pub(super) fn source(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    /// Where programs put temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.path().join("temporary")
    }

    /// Where the kernel is put together.
    pub(super) fn complete(&self) -> PathBuf {
        self.folder.path().join("complete")
    }

    /// What the programs have printed.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// Removes folders of builds that no longer run. What cannot be removed stays.
pub(super) fn remove_leftovers(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            let Ok(folder) = File::open(entry.path()) else { continue };
            if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_a_build_that_no_longer_runs_is_removed_and_no_other() {
        let cache = TempDir::new().expect("a temporary directory");
        let running = Folder::create(cache.path()).expect("a folder");
        let leftover = cache.path().join(".build-1");
        let other = cache.path().join("6.12.117-00000000-00000000");
        for folder in [&leftover, &other] {
            fs::create_dir_all(folder.join("source")).expect("a folder");
        }
        remove_leftovers(cache.path());
        assert!(!leftover.exists() && other.exists() && running.source().exists());
        drop(running);
        assert_eq!(fs::read_dir(cache.path()).expect("a folder").count(), 1);
    }
}
