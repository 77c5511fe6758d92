//! Files that an earlier run has left in a directory of results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The files of a directory, with their modification times.
pub struct Files(BTreeMap<String, SystemTime>);

impl Files {
    /// Lists the current files; none if the directory does not exist.
    pub fn new(directory: &Path) -> Self {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((entry.file_name().to_string_lossy().into_owned(), metadata.modified().ok()?))
        });
        Self(files.collect())
    }

    /// The names of the files that existed `before` and have not been written since.
    pub fn left_from(&self, before: &Self) -> Vec<&str> {
        let same = self.0.iter().filter(|(name, written)| before.0.get(*name) == Some(written));
        same.map(|(name, _)| name.as_str()).collect()
    }
}
