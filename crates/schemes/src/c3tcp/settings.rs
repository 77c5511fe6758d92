//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{Count, HOUR, MS, Time};

/// The settings of [`C3tcp`](super::C3tcp).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The weight of a new measurement of the path is one divided by this number. Default 8, as for
    /// TCP's round-trip time (RFC 6298). 1 turns smoothing off. The source states no value.
    #[serde(with = "Count::<1, 1_024>")]
    pub smoothing: u32,
    /// How long the last measurement is used while ACKs carry no new one. Default 3 s, three times
    /// the interval at which the link layer retries frames with options. The source states no
    /// value.
    #[serde(with = "Time::<MS, HOUR>")]
    pub lifetime: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { smoothing: 8, lifetime: Duration::from_secs(3) }
    }
}
