//! The place of a change: the one line of a text that has certain names.

use std::ops::Range;

use thiserror::Error;

/// Why a place is not found.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlaceError {
    /// No line has the names.
    #[error("expected one line with {names}; found none")]
    Absent {
        /// The names, in words.
        names: String,
    },
    /// More than one line has them.
    #[error("expected one line with {names}; found lines {first} and {second}")]
    Twice {
        /// The names, in words.
        names: String,
        /// The first of the lines, from 1.
        first: usize,
        /// The second.
        second: usize,
    },
}

/// Where in a text the only line is that has all these names, with its end.
pub(super) fn only_line(text: &str, names: &[String]) -> Result<Range<usize>, PlaceError> {
    let words = || names.join(" and ");
    let mut end = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = end;
        end += line.len();
        (start..end, line)
    });
    let mut found = (1..).zip(lines).filter(|(_, (_, line))| names.iter().all(|name| has_name(line, name)));
    let Some((first, (place, _))) = found.next() else {
        return Err(PlaceError::Absent { names: words() });
    };
    match found.next() {
        Some((second, _)) => Err(PlaceError::Twice { names: words(), first, second }),
        None => Ok(place),
    }
}

/// Whether a line has a name, not as a part of another one.
pub(super) fn has_name(line: &str, name: &str) -> bool {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(|word| word == name)
}
