//! What can be set.

use std::time::Duration;

use lasthop_config::quantity::{MS, SECOND, Time};

/// What can be set, with what it is by default.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How long an ACK waits for the next, 1 ms to 1 s; default 20 ms.
    #[serde(with = "Time::<MS, SECOND>")]
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { patience: Duration::from_millis(20) }
    }
}
