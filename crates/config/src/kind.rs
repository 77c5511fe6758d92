//! Recognizes the kind of a TOML file by its top-level keys, so that a file that is given to the
//! wrong command has a clear error.

use crate::document::Document;
use crate::error::FileError;

/// The kinds of configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A network and its traffic.
    Scenario,
    /// A scenario over a grid of values.
    Sweep,
    /// The configuration of the gateway.
    Gateway,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Scenario, Self::Sweep, Self::Gateway];

    /// Keys that only this kind has.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Scenario => &["nodes", "links", "wlans", "flows", "sessions"],
            Self::Sweep => &["vary"],
            Self::Gateway => &["rule", "ports", "backend"],
        }
    }

    /// Its description, and the commands that accept it.
    const fn about(self) -> &'static str {
        match self {
            Self::Scenario => "a scenario, for `lasthop compare`, `run`, `try` or `emulate`",
            Self::Sweep => "a sweep, for `lasthop sweep`",
            Self::Gateway => "a configuration of the gateway, for `lasthop gateway`",
        }
    }
}

impl Document<'_> {
    /// Fails if the file is clearly of another kind: it has a key that only that kind has, and no
    /// key of this kind.
    pub fn expect(&self, kind: Kind) -> Result<(), FileError> {
        let first_of = |kind: Kind| kind.keys().iter().find(|key| self.get(&[key]).is_some());
        if first_of(kind).is_some() {
            return Ok(());
        }
        let other = Kind::ALL.into_iter().find_map(|other| first_of(other).map(|key| (other, *key)));
        other.map_or(Ok(()), |(other, key)| {
            let problem = format!("this file is {}; expected {}", other.about(), kind.about());
            Err(self.error(&[key], problem))
        })
    }
}
