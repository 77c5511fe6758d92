//! Errors of a script or of the endpoint.

/// A line and a column of a script, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// The reason why a script did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The script does not follow packetdrill's grammar.
    #[error("{}:{}: expected {expected}", place.line, place.column)]
    Syntax {
        /// The place.
        place: Place,
        /// The expected syntax.
        expected: String,
    },
    /// The script uses an element that this runner does not support.
    #[error("{}: not understood: {what}", place.line)]
    NotUnderstood {
        /// The place.
        place: Place,
        /// The element.
        what: String,
    },
    /// The endpoint differs from the script.
    #[error("{}: {difference}", place.line)]
    Failed {
        /// The place.
        place: Place,
        /// The expected and the actual behavior.
        difference: String,
    },
}

impl Error {
    pub(crate) fn expected(place: Place, expected: &str) -> Self {
        Self::Syntax { place, expected: expected.to_owned() }
    }

    pub(crate) fn not_understood(place: Place, what: impl Into<String>) -> Self {
        Self::NotUnderstood { place, what: what.into() }
    }

    pub(crate) fn failed(place: Place, difference: impl Into<String>) -> Self {
        Self::Failed { place, difference: difference.into() }
    }
}
