//! The tables of a station's scheduler, as serde reads them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::Text;

/// The order in which the packets in the queue of a station are sent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SchedulerTable {
    /// The order.
    pub(super) kind: SchedulerName,
    /// With "airtime": how much air time may be with the driver, by an estimate (airtime queue limits, AQL). "linux", the
    /// default, "none", or a table.
    pub(super) limits: Option<NameOrTable<LimitsTable>>,
}

/// The order in which the packets in the queue of a station are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SchedulerName {
    /// First in, first out. A packet that finds no room is dropped.
    Fifo,
    /// Flows are served alternately, octet by octet. A flow is all packets with the same addresses,
    /// protocol and ports. If the queue is full, the flow with the most octets in it loses its last
    /// packet.
    PerFlow,
    /// Each receiver has a queue, and they are served round robin. A turn is one transmission: while a
    /// frame waits to be sent again, other receivers have theirs. A packet that finds no room is dropped.
    PerReceiver,
    /// As in Linux's mac80211: each receiver has flow queues with CoDel, and receivers take turns such that each has the same
    /// air time, in both directions together.
    Airtime,
}

/// Airtime queue limits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LimitsTable {
    /// Whether there are any; default "linux".
    #[serde(default)]
    pub(super) kind: LimitsName,
    /// The air time of a receiver that may always be with the driver, "100 us" to "10 s"; default "5 ms".
    pub(super) low: Option<Text<Duration>>,
    /// The same while all receivers together have less than `threshold`, `low` to "10 s"; default "12 ms".
    pub(super) high: Option<Text<Duration>>,
    /// See `high`; "0 us" to "10 s", default "24 ms".
    pub(super) threshold: Option<Text<Duration>>,
}

/// Whether there are airtime queue limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LimitsName {
    /// Only the number of the driver's packets is limited.
    None,
    /// Those of Linux.
    #[default]
    Linux,
}

impl Named for SchedulerTable {
    type Name = SchedulerName;
    const SCHEMA: &'static str = "Scheduler";
    const EXPECTED: &'static str = "\"fifo\", \"per-flow\", \"per-receiver\", \"airtime\", or a table";

    fn named(kind: SchedulerName) -> Self {
        Self { kind, limits: None }
    }
}

impl Named for LimitsTable {
    type Name = LimitsName;
    const SCHEMA: &'static str = "AirtimeLimits";
    const EXPECTED: &'static str = "\"linux\", \"none\", or a table";

    fn named(kind: LimitsName) -> Self {
        Self { kind, ..Self::default() }
    }
}
