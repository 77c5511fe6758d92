//! Errors about a data file or a file beside it.

use std::fmt;

use thiserror::Error;

/// An error in a file: its place, and the expected contents.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct DataFileError {
    /// The file.
    pub file: String,
    /// The line, counted from 1; `None` if the file could not be read at all.
    pub line: Option<usize>,
    /// Component and attribute, such as `wired_link.latency`; empty if the error is about neither.
    pub key: String,
    /// The contents found there, and those expected.
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

/// An error without the name of its file.
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

/// A quotation from a file for a message: truncated, and without characters that control a terminal.
pub(super) fn quoted(found: &str) -> String {
    let cut: String = found.chars().take(40).collect();
    let dots = if cut.len() < found.len() { "..." } else { "" };
    format!("{cut:?}{dots}")
}
