//! What can be wrong with a script, or with the endpoint.

/// A line and a column of a script, both from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// Why a script did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The script does not follow packetdrill's grammar.
    #[error("{}:{}: expected {expected}", place.line, place.column)]
    Syntax {
        /// Where.
        place: Place,
        /// What was expected there.
        expected: String,
    },
    /// The script uses something that this runner does not have.
    #[error("{}: not understood: {what}", place.line)]
    NotUnderstood {
        /// Where.
        place: Place,
        /// What it uses.
        what: String,
    },
    /// The endpoint did not do what the script says.
    #[error("{}: {difference}", place.line)]
    Failed {
        /// Where.
        place: Place,
        /// What was expected, and what happened.
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
