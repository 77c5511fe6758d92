//! What is said on a control socket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What can be asked of an emulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Command {
    /// Change links.
    Set {
        /// Keys of links and their values, such as `air.loss=2%`.
        assignments: Vec<String>,
    },
    /// Say what it is and what it has done so far.
    // With braces: serde lets keys of a variant without any pass.
    Status {},
}

/// What an emulation is.
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
    /// Notes that a key was set. One of a link as a whole replaces those of its directions, and those of
    /// both directions replace the one of the link.
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

/// What an emulation is, and what it has done so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// The keys of a summary.
    #[serde(flatten)]
    pub summary: serde_json::Map<String, serde_json::Value>,
}
