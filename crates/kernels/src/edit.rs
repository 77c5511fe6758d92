//! Changes of a kernel's source.
//!
//! An edit is a TOML file (`kernel/edits`): a `reason`; `files`, of which the first that exists is edited,
//! because files move between versions; and `changes`. A change has `line`, names and numbers that are
//! together in exactly one line of the file, and either `text` to `insert` `"before"` or `"after"` this line,
//! or a name in it to `replace`, and what `with`. If one of the files of `unnecessary` has its `name`, the
//! edit is left out.

mod place;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use place::{has_name, only_line};
use serde::Deserialize;
use thiserror::Error;

pub use place::PlaceError;

/// A change of a kernel's source, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    name: String,
    /// As it is written: what the edit does follows from it.
    text: String,
    content: Content,
}

/// An edit, as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Content {
    reason: String,
    files: Vec<PathBuf>,
    unnecessary: Option<Unnecessary>,
    changes: Vec<Change>,
}

/// Kernels that do not need the edit: a name that one of these files has.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Unnecessary {
    files: Vec<PathBuf>,
    name: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Change {
    Insert(Insertion),
    Replace(Replacement),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Insertion {
    line: Vec<String>,
    insert: Side,
    text: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Replacement {
    line: Vec<String>,
    replace: String,
    with: String,
}

/// Where text is inserted, seen from the line that was found.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Side {
    Before,
    After,
}

/// Whether a kernel has an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has.
    Made,
    /// It does not need it.
    Unnecessary,
}

/// Why a text is not an edit.
#[derive(Debug, Error)]
#[error("edit {name}: {problem}")]
pub struct FormError {
    name: String,
    problem: String,
}

/// Why an edit cannot be made.
#[derive(Debug, Error)]
pub enum EditError {
    /// None of its files exists.
    #[error("edit {edit}: expected a file {files}; this kernel has none")]
    NoFile {
        /// The edit's name.
        edit: String,
        /// The files, in words.
        files: String,
    },
    /// The place to edit is not in the file.
    #[error("edit {edit}: {file}: {problem}", file = file.display())]
    Place {
        /// The edit's name.
        edit: String,
        /// The file that it changes.
        file: PathBuf,
        /// What was expected there.
        problem: PlaceError,
    },
    /// The file cannot be read or written.
    #[error("edit {edit}: {file}: {problem}", file = file.display())]
    File {
        /// The edit's name.
        edit: String,
        /// The file.
        file: PathBuf,
        /// The system's reason.
        problem: io::Error,
    },
}

impl Edit {
    /// Reads an edit.
    pub fn parse(name: &str, text: &str) -> Result<Self, FormError> {
        let error = |problem: &str| FormError { name: name.to_owned(), problem: problem.to_owned() };
        let content: Content = toml::from_str(text).map_err(|problem| error(problem.message()))?;
        if content.reason.trim().is_empty() {
            return Err(error("expected a reason"));
        }
        if content.files.is_empty() || content.changes.iter().any(|change| change.line().is_empty()) {
            return Err(error("expected a file, and names in each line"));
        }
        if content.changes.is_empty() {
            return Err(error("expected a change"));
        }
        if content.changes.iter().any(|change| !change.replaces_a_name_of_its_line()) {
            return Err(error("expected a name of the line to replace"));
        }
        Ok(Self { name: name.to_owned(), text: text.to_owned(), content })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text, from which it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Makes the edit in the source of a kernel: all its changes, or none.
    pub fn apply(&self, source: &Path) -> Result<Outcome, EditError> {
        if let Some(Unnecessary { files, name }) = &self.content.unnecessary {
            for file in files.iter().filter(|file| source.join(file).is_file()) {
                if self.read(source, file)?.lines().any(|line| has_name(line, name)) {
                    return Ok(Outcome::Unnecessary);
                }
            }
        }
        let files = &self.content.files;
        let Some(file) = files.iter().find(|file| source.join(file).is_file()) else {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            return Err(EditError::NoFile { edit: self.name.clone(), files: names.join(" or ") });
        };
        let changed = self.changed(&self.read(source, file)?).map_err(|problem| EditError::Place {
            edit: self.name.clone(),
            file: file.clone(),
            problem,
        })?;
        fs::write(source.join(file), changed).map_err(|problem| self.file_error(file, problem))?;
        Ok(Outcome::Made)
    }

    /// A file's text with the changes.
    fn changed(&self, text: &str) -> Result<String, PlaceError> {
        self.content.changes.iter().try_fold(text.to_owned(), |text, change| change.made_in(&text))
    }

    fn read(&self, source: &Path, file: &Path) -> Result<String, EditError> {
        fs::read_to_string(source.join(file)).map_err(|problem| self.file_error(file, problem))
    }

    fn file_error(&self, file: &Path, problem: io::Error) -> EditError {
        EditError::File { edit: self.name.clone(), file: file.to_owned(), problem }
    }
}

impl Change {
    fn line(&self) -> &[String] {
        match self {
            Self::Insert(Insertion { line, .. }) | Self::Replace(Replacement { line, .. }) => line,
        }
    }

    fn replaces_a_name_of_its_line(&self) -> bool {
        match self {
            Self::Insert(_) => true,
            Self::Replace(Replacement { line, replace, .. }) => line.contains(replace),
        }
    }

    /// The text with this change.
    fn made_in(&self, text: &str) -> Result<String, PlaceError> {
        let line = only_line(text, self.line())?;
        Ok(match self {
            Self::Insert(Insertion { insert: Side::Before, text: new, .. }) => {
                [&text[..line.start], new, &text[line.start..]].concat()
            }
            Self::Insert(Insertion { insert: Side::After, text: new, .. }) => {
                [&text[..line.end], new, &text[line.end..]].concat()
            }
            Self::Replace(Replacement { replace, with, .. }) => {
                let replaced = text[line.clone()].replace(replace.as_str(), with);
                [&text[..line.start], &replaced, &text[line.end..]].concat()
            }
        })
    }
}

#[cfg(test)]
mod tests;
