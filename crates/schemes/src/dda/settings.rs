//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{MINUTE, MS, Time};

/// The settings of DDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// For how long the third duplicate ACK and those behind it are held ("d"), "1 ms" to "1 min";
    /// default 50 ms. It has to be longer than the link layer takes to repair a loss, and delays the
    /// repair of all losses that it does not repair.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub delay: Duration,
    /// Where they are held; default "mobile-host", as in the paper.
    pub seat: DdaSeat,
}

/// Where duplicate ACKs are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DdaSeat {
    /// At the receiver of the data, behind the wireless hop.
    MobileHost,
    /// At the base station, as they come off the hop: for mobile hosts as they are. Ours.
    Edge,
}

impl Default for Settings {
    fn default() -> Self {
        Self { delay: Duration::from_millis(50), seat: DdaSeat::MobileHost }
    }
}
