//! Control sockets, for the requests to a gateway or an emulation: the server's end, and the form of
//! responses, one JSON document per line.

pub mod client;
pub mod listener;

use serde::{Deserialize, Serialize};

/// A response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<T> {
    /// The request succeeded, with this result.
    Ok(T),
    /// The request failed, for this reason.
    Error(String),
}

impl<T: Serialize> Answer<T> {
    /// The response as a line.
    pub fn line(&self) -> Vec<u8> {
        // No response has keys that are not strings.
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
