//! What control sockets answer with, a JSON document a line.

use serde::{Deserialize, Serialize};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<T> {
    /// It was done; this is what there is to tell.
    Ok(T),
    /// It was not, and why.
    Error(String),
}

impl<T: Serialize> Answer<T> {
    /// As it is sent.
    pub fn line(&self) -> Vec<u8> {
        // Nothing that we answer with has keys that are no strings.
        let mut octets = serde_json::to_vec(self).unwrap_or_default();
        octets.push(b'\n');
        octets
    }
}

impl<T> From<Result<T, String>> for Answer<T> {
    fn from(outcome: Result<T, String>) -> Self {
        outcome.map_or_else(Self::Error, Self::Ok)
    }
}
