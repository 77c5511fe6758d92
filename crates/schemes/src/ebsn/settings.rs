//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::quantity::{HOUR, MINUTE, Time};

/// The settings of EBSN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The shortest time between two messages about one connection. Default 50 ms, a quarter of the
    /// minimum RTO of Linux (`TCP_RTO_MIN`). With 0 there is one message for each failed attempt,
    /// as in the paper. Added by lasthop.
    #[serde(with = "Time::<0, MINUTE>")]
    pub least_interval: Duration,
    /// How long messages can keep the sender's timer from expiring without any progress; default
    /// 100 s (RFC 9293, section 3.8.3, R2). Added by lasthop.
    #[serde(with = "Time::<0, HOUR>")]
    pub longest_deferral: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { least_interval: Duration::from_millis(50), longest_deferral: Duration::from_secs(100) }
    }
}
