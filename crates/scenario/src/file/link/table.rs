//! The table of a link, as serde reads it.

use std::time::Duration;

use lasthop_packet::Probability;
use schemars::JsonSchema;
use serde::Deserialize;

use super::distribution::DelayTable;
use super::layer::LinkLayerTable;
use super::queue::QueueTable;
use crate::file::channel::ChannelTable;
use crate::file::named::NameOrTable;
use crate::file::pair;
use crate::file::quantity::{LinkRate, Mac, Text};

/// A link between two nodes, full duplex unless it is in a cell. "Forward" is from the first node
/// to the second.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct LinkTable {
    /// The names of the two nodes that it joins.
    #[serde(deserialize_with = "pair::exact")]
    pub(super) between: [String; 2],
    /// Default "wired".
    #[serde(default)]
    pub(super) kind: Medium,
    /// Rate of both directions, at most "1000 Gbit/s"; "trace" where it follows a measured trace.
    /// Each direction needs a rate, here or of its own.
    pub(super) rate: Option<Text<LinkRate>>,
    /// A measured trace in the Mahimahi format that the rate follows, relative to the scenario;
    /// wireless links only.
    pub(super) trace: Option<String>,
    /// How packets wait for transmission in each direction: how many or how much, or a table with a
    /// discipline; default "100 packets".
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Probability that a packet (wired) or a transmission of a frame (wireless) is lost,
    /// independent of all else; default "0%".
    pub(super) loss: Option<Text<Probability>>,
    /// Propagation delay of each packet, at most "1 h": one for all, or a table with a
    /// distribution. With a link layer that acknowledges frames one for all, the same in both directions.
    /// Default "0 s".
    pub(super) delay: Option<NameOrTable<DelayTable>>,
    /// By how much the delay varies from packet to packet, at most `delay`, which is then one
    /// duration. Not with a link layer that acknowledges frames. Default "0 s".
    pub(super) jitter: Option<Text<Duration>>,
    /// Whether `jitter` is the most that a delay varies by, or its standard deviation; default
    /// "uniform".
    pub(super) jitter_distribution: Option<JitterDistribution>,
    /// Whether packets whose delays vary, or change, may overtake each other; default "kept".
    pub(super) order: Option<OrderName>,
    /// Transmission times are cut down to whole multiples of this, "1 ms" to "1 s", as in
    /// simulators that count so; default exact.
    pub(super) clock: Option<Text<Duration>>,
    /// What is different from the first node to the second.
    #[serde(default)]
    pub(super) forward: DirectionTable,
    /// What is different from the second node to the first.
    #[serde(default)]
    pub(super) backward: DirectionTable,
    /// The error process, one for both directions; wireless links only; default none.
    pub(super) channel: Option<ChannelTable>,
    /// What happens to frames that are lost; wireless links only; default "none".
    pub(super) link_layer: Option<NameOrTable<LinkLayerTable>>,
    /// The name of a cell: wireless links of one cell share its medium, one transmission at a time.
    pub(super) cell: Option<String>,
    /// How the medium of a cell is shared: "ideal", in turn and without collisions. For IEEE 802.11
    /// see `wlans`.
    pub(super) mac: Option<Text<Mac>>,
}

/// How a delay varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum JitterDistribution {
    /// Every delay within `jitter` of the mean is as likely.
    Uniform,
    /// Normally, cut at three deviations and at a delay of zero.
    Normal,
}

/// Whether packets may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum OrderName {
    /// No: one that would overtake arrives with the one before it.
    Kept,
    /// Yes: each arrives at its own time.
    Overtake,
}

/// What kind of link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum Medium {
    #[default]
    Wired,
    Wireless,
}

/// One direction of a link, where it differs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct DirectionTable {
    /// Rate of this direction, or "trace".
    pub(super) rate: Option<Text<LinkRate>>,
    /// The measured trace that this direction's rate follows.
    pub(super) trace: Option<String>,
    /// How packets wait for transmission.
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Probability that a packet or a transmission is lost.
    pub(super) loss: Option<Text<Probability>>,
    /// Propagation delay; one with a distribution has no jitter of the link's.
    pub(super) delay: Option<NameOrTable<DelayTable>>,
    /// By how much the delay varies.
    pub(super) jitter: Option<Text<Duration>>,
    /// What `jitter` is.
    pub(super) jitter_distribution: Option<JitterDistribution>,
    /// Whether packets may overtake each other.
    pub(super) order: Option<OrderName>,
}
