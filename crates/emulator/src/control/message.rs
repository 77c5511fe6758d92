//! The messages on a control socket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request to an emulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Command {
    /// Changes links.
    Set {
        /// Keys of links and their values, such as `air.loss=2%`.
        assignments: Vec<String>,
    },
    /// Queries the status.
    // With braces: serde accepts unknown keys for a unit variant.
    Status {},
}

/// The description of an emulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The process ID of the emulation.
    pub pid: u32,
    /// The name that it was given; `None` without one.
    #[serde(default)]
    pub name: Option<String>,
    /// The link in a few words.
    pub link: String,
    /// The command behind it.
    pub command: String,
    /// The keys of links that have changed since the start, by hand or at their times, and their values.
    pub changed: BTreeMap<String, String>,
}

impl About {
    /// Records the new value of a key. A key of a link replaces those of its directions, and keys
    /// of both directions replace that of the link.
    pub(super) fn set(&mut self, key: String, value: String) {
        let of_way = |link: &str, way: &str, rest: &str| format!("{link}.{way}.{rest}");
        let (link, rest) = key.split_once('.').unwrap_or((&key, ""));
        let of_direction = rest.strip_prefix("forward.").map(|rest| ("backward", rest));
        let of_direction =
            of_direction.or_else(|| rest.strip_prefix("backward.").map(|rest| ("forward", rest)));
        match of_direction {
            Some((other, rest)) if self.changed.contains_key(&of_way(link, other, rest)) => {
                self.changed.remove(&format!("{link}.{rest}"));
            }
            Some(_) => {}
            None => {
                for way in ["forward", "backward"] {
                    self.changed.remove(&of_way(link, way, rest));
                }
            }
        }
        self.changed.insert(key, value);
    }
}

/// The description of an emulation, and its summary so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The description.
    #[serde(flatten)]
    pub about: About,
    /// The keys of the summary.
    #[serde(flatten)]
    pub summary: serde_json::Map<String, serde_json::Value>,
}
