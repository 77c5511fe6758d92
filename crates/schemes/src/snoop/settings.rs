//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{DurationText, OctetsText};

/// The settings of [`Snoop`](super::Snoop). The defaults are those of the authors' ns-2 code where it has the quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Connections at a time, 0 or more; default 10,000. At the bound the one that has been idle longest makes room if it is
    /// past `eviction-grace`, else the new one passes untouched. Ours: snoop.cc has no bound.
    pub flows: usize,
    /// Cached packets of one connection, 0 or more; default 100 (snoop.h, `SNOOP_MAXWIND`). At the bound packets pass uncached.
    pub cached_packets: usize,
    /// Cached octets of one connection, headers included; default 1 MiB. At the bound packets pass uncached. Ours.
    #[serde(with = "crate::settings::octets")]
    #[schemars(with = "OctetsText")]
    pub cached_octets: usize,
    /// Cached octets of all connections together, headers included; default 64 MiB. At the bound packets pass uncached. Ours.
    #[serde(with = "crate::settings::octets")]
    #[schemars(with = "OctetsText")]
    pub cached_octets_in_all: usize,
    /// The least local time-out; default 100 ms (snoop.h, `SNOOP_MIN_TIMO`; ns-default.tcl, `snoopTick_`).
    #[serde(with = "crate::settings::duration")]
    #[schemars(with = "DurationText")]
    pub minimum_timeout: Duration,
    /// Local retransmissions of one packet, 0 or more; default 10 (snoop.h, `SNOOP_MAX_RXMIT`).
    pub local_retransmissions: u32,
    /// Duplicate ACKs that pass before one triggers a local retransmission, 0 or more; default 1 (snoop.cc, `RTX_THRESH`). The
    /// paper has 0: the first one triggers it.
    pub duplicates_passed: u32,
    /// The round-trip time over the wireless hop before the first measurement; default 100 ms (ns-default.tcl, `srtt_`).
    #[serde(with = "crate::settings::duration")]
    #[schemars(with = "DurationText")]
    pub initial_srtt: Duration,
    /// Its deviation before the first measurement; default 250 ms (ns-default.tcl, `rttvar_`).
    #[serde(with = "crate::settings::duration")]
    #[schemars(with = "DurationText")]
    pub initial_rttvar: Duration,
    /// A connection without packets for this long is forgotten and its cache freed, to the second; default 5 min. Ours.
    #[serde(with = "crate::settings::duration")]
    #[schemars(with = "DurationText")]
    pub idle_timeout: Duration,
    /// A connection that was used within this time does not make room for a new one, to the second; default 10 s. Ours.
    #[serde(with = "crate::settings::duration")]
    #[schemars(with = "DurationText")]
    pub eviction_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            flows: 10_000,
            cached_packets: 100,
            cached_octets: 1 << 20,
            cached_octets_in_all: 64 << 20,
            minimum_timeout: Duration::from_millis(100),
            local_retransmissions: 10,
            duplicates_passed: 1,
            initial_srtt: Duration::from_millis(100),
            initial_rttvar: Duration::from_millis(250),
            idle_timeout: Duration::from_secs(300),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
