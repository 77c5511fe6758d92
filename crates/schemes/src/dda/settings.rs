//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::quantity::{MINUTE, MS, Time};

/// The settings of DDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How long the third duplicate ACK and those after it are held ("d"), "1 ms" to "1 min";
    /// default 50 ms. It must be longer than the link layer needs to repair a loss. It delays the
    /// repair of every loss that the link layer does not repair.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub delay: Duration,
    /// Where duplicate ACKs are held; default "mobile-host", as in the paper.
    pub seat: DdaSeat,
}

/// Where duplicate ACKs are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DdaSeat {
    /// At the receiver of the data, behind the wireless hop.
    MobileHost,
    /// At the base station, as ACKs arrive from the hop, for unmodified mobile hosts. Added by
    /// lasthop.
    Edge,
}

impl Default for Settings {
    fn default() -> Self {
        Self { delay: Duration::from_millis(50), seat: DdaSeat::MobileHost }
    }
}
