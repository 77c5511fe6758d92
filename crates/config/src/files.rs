//! The source of files: the disk or memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// The name that stands for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Files by their paths. Scenarios, sweeps, data files, and the files that they name are read
/// through this.
pub trait Files: Send + Sync {
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>>;

    /// Whether this is a regular file, so that reading it does not wait for another process.
    fn is_regular(&self, path: &Path) -> io::Result<bool>;

    /// The names of the regular files in the folder of this path, in order; at most 10,000, and
    /// those that are UTF-8.
    fn names_beside(&self, path: &Path) -> Vec<String>;
}

/// The maximum number of names in a folder that are looked at.
const MAX_NAMES: usize = 10_000;

/// The files of this machine; "-" is standard input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>> {
        Ok(match path.to_str() {
            Some(STANDARD_INPUT) => Box::new(io::stdin().lock()),
            _ => Box::new(File::open(path)?),
        })
    }

    fn is_regular(&self, path: &Path) -> io::Result<bool> {
        Ok(fs::metadata(path)?.is_file())
    }

    fn names_beside(&self, path: &Path) -> Vec<String> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_NAMES);
        let files = entries.filter(|entry| entry.path().is_file());
        let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// Files in memory. Their paths are compared without `.` and `..`.
#[derive(Clone, Debug, Default)]
pub struct InMemory(BTreeMap<PathBuf, Vec<u8>>);

impl InMemory {
    fn octets(&self, path: &Path) -> io::Result<&[u8]> {
        let octets = self.0.get(&plain(path));
        octets
            .map(Vec::as_slice)
            .ok_or_else(|| io::Error::new(ErrorKind::NotFound, "No such file or directory"))
    }
}

impl Files for InMemory {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.octets(path)?))
    }

    fn is_regular(&self, path: &Path) -> io::Result<bool> {
        self.octets(path).map(|_| true)
    }

    fn names_beside(&self, path: &Path) -> Vec<String> {
        let path = plain(path);
        let beside = self.0.keys().filter(|other| other.parent() == path.parent()).take(MAX_NAMES);
        beside.filter_map(|other| Some(other.file_name()?.to_str()?.to_owned())).collect()
    }
}

/// From paths and octets.
impl<P: AsRef<Path>, O: Into<Vec<u8>>> FromIterator<(P, O)> for InMemory {
    fn from_iter<I: IntoIterator<Item = (P, O)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, octets)| (plain(path.as_ref()), octets.into())).collect())
    }
}

/// A path without `.`, and without `..` except at its beginning.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match (step, plain.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                plain.pop();
            }
            _ => plain.push(step),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_is_found_by_every_path_to_it() {
        let files = InMemory::from_iter([("a/b.toml", "b"), ("../c", "c"), ("/d", "d")]);
        for (path, text) in [("a/b.toml", "b"), ("./a/x/../b.toml", "b"), ("a/../../c", "c"), ("/../d", "d")]
        {
            let mut read = String::new();
            let file = files.open(Path::new(path));
            file.expect("it is there").read_to_string(&mut read).expect("UTF-8");
            assert_eq!(read, text, "{path}");
            assert!(files.is_regular(Path::new(path)).expect("it is there"));
        }
        for path in ["b.toml", "a", "c", "d"] {
            assert!(files.open(Path::new(path)).is_err(), "{path}");
        }
    }
}
