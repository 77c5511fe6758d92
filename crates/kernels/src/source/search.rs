//! The sources of kernels in a folder, by the names that distributions give them.

use std::fs;
use std::path::{Path, PathBuf};

use super::form::{archive, is_kernel};
use crate::version::Version;

/// How the names begin: in packages of Debian and Ubuntu, and as the kernel's developers and others name them.
const BEGINNINGS: [&str; 2] = ["linux-source-", "linux-"];

/// The sources in a folder with the versions in their names, in ascending order. A name may have the
/// series only, as Debian's.
pub(super) fn sources(folder: &Path) -> Vec<(Version, PathBuf)> {
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
