//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{HOUR, MINUTE, Time};

/// The settings of EBSN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The least time between two messages about one connection; default 50 ms, a quarter of the
    /// least RTO of Linux (`TCP_RTO_MIN`). At 0 there is a message for each attempt that failed, as
    /// in the paper. Ours.
    #[serde(with = "Time::<0, MINUTE>")]
    pub least_interval: Duration,
    /// How long messages keep the sender's timer from expiring without any progress; default 100 s
    /// (RFC 9293, section 3.8.3, R2). Ours.
    #[serde(with = "Time::<0, HOUR>")]
    pub longest_deferral: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { least_interval: Duration::from_millis(50), longest_deferral: Duration::from_secs(100) }
    }
}
