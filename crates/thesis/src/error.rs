//! Errors about a data file or a file beside it.

use std::fmt;

use thiserror::Error;

/// What is wrong: file, line, key, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct DataFileError {
    /// The file.
    pub file: String,
    /// The line, counted from 1; `None` if the file could not be read at all.
    pub line: Option<usize>,
    /// Component and attribute, such as `wired_link.latency`; empty where it is about neither.
    pub key: String,
    /// What stands there and what was expected.
    pub problem: String,
}

impl DataFileError {
    pub(super) fn unreadable(file: &str, problem: &str) -> Self {
        Self { file: file.to_owned(), line: None, key: String::new(), problem: problem.to_owned() }
    }
}

impl fmt::Display for DataFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// An error before it is known in which file.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    line: usize,
    key: String,
    message: String,
}

impl Problem {
    pub(super) fn new(line: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { line, key: key.into(), message: problem.into() }
    }

    pub(super) fn in_file(self, file: &str) -> DataFileError {
        DataFileError { file: file.to_owned(), line: Some(self.line), key: self.key, problem: self.message }
    }
}

/// What stands in a file, as a message quotes it: cut, and nothing in it that a terminal would
/// obey.
pub(super) fn quoted(found: &str) -> String {
    let cut: String = found.chars().take(40).collect();
    let dots = if cut.len() < found.len() { "..." } else { "" };
    format!("{cut:?}{dots}")
}
