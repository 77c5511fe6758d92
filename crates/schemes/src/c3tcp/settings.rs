//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{Count, HOUR, MS, Time};

/// The settings of [`C3tcp`](super::C3tcp). `preset = "published"` takes defaults from the source. Keys
/// that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" sets
    /// smoothing = 1.
    pub preset: Preset,
    /// The weight of a new measurement of the path is one divided by this number. Default 8, as for
    /// TCP's round-trip time (RFC 6298). 1 turns smoothing off, which is the published value: the source computes the
    /// window from each ACK's measurement.
    #[serde(with = "Count::<1, 1_024>")]
    pub smoothing: u32,
    /// How long the last measurement is used while ACKs carry no new one. Default 3 s, three times
    /// the interval at which the link layer retries frames with options. The source states no
    /// value.
    #[serde(with = "Time::<MS, HOUR>")]
    pub lifetime: Duration,
}

impl Presets for Settings {
    fn published() -> Self {
        Self { preset: Preset::Published, smoothing: 1, ..Self::default() }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { preset: Preset::Today, smoothing: 8, lifetime: Duration::from_secs(3) }
    }
}
