//! Errors about files.

use thiserror::Error;

/// An error in a file, such as `scenarios/x.toml:12: links.air.rate: "11 MB/s" is not
/// a rate above zero, such as "11 Mbit/s"`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}{}: {problem}", at_line(*.line), at_key(.key))]
pub struct FileError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1; `None` if the error is about the whole file.
    pub line: Option<usize>,
    /// The key with its tables, such as `links.air.rate`; empty if the error is not about a key.
    pub key: String,
    /// The problem, and the expected contents.
    pub problem: String,
}

impl FileError {
    /// An error about a whole file.
    pub fn in_file(file: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, key: String::new(), problem: problem.into() }
    }
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

fn at_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(": {key}") }
}
