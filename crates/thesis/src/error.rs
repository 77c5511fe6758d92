//! Errors about a data file or a file beside it.

use lasthop_config::FileError;

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

    pub(super) fn in_file(self, file: &str) -> FileError {
        FileError { file: file.to_owned(), line: Some(self.line), key: self.key, problem: self.message }
    }
}

/// A quotation from a file for a message: truncated, and without characters that control a
/// terminal.
pub(super) fn quoted(found: &str) -> String {
    let cut: String = found.chars().take(40).collect();
    let dots = if cut.len() < found.len() { "..." } else { "" };
    format!("{cut:?}{dots}")
}
