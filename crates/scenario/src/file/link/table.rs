//! The table of a link, as serde reads it.

use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::Cut;
use lasthop_sim::Loss;
use lasthop_sim::delay::Correlation;
use lasthop_sim::selection::Traffic;
use schemars::JsonSchema;
use serde::Deserialize;

use super::distribution::DelayTable;
use super::layer::LinkLayerTable;
use super::queue::QueueTable;
use crate::file::channel::ChannelTable;
use crate::file::named::NameOrTable;
use crate::file::pair;
use crate::file::quantity::{LinkRate, Mac, Text};

/// A link between two nodes, full duplex unless it is in a cell. "Forward" is the direction from
/// the first node to the second.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct LinkTable {
    /// The names of the two nodes that the link joins.
    #[serde(deserialize_with = "pair::exact")]
    pub(super) between: [String; 2],
    /// The kind of link; default "wired".
    #[serde(default)]
    pub(super) kind: Medium,
    /// Rate of both directions, at most "1000 Gbit/s", "0" if nothing is transmitted and packets wait,
    /// or "trace" if it follows a measured trace.
    /// Each direction needs a rate, from here or from its own table.
    pub(super) rate: Option<Text<LinkRate>>,
    /// A measured trace in the Mahimahi format that the rate follows, with a path relative to the
    /// scenario; wireless links only.
    pub(super) trace: Option<String>,
    /// The queue in each direction: a number of packets or an amount of data, or a table with a
    /// discipline; default "100 packets".
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Which packets (wired) or transmissions of frames (wireless) are lost: each with a probability
    /// ("1%"); with a correlation between successive losses ("1% 25%"); in bursts of a mean length
    /// ("1% in bursts of 4"); by a Gilbert-Elliott model ("gemodel P R 1-H 1-K", as in netem); every
    /// n-th ("every 10"); or by their numbers from 1 ("packets 3, 7, 9-12"). Default "0%".
    pub(super) loss: Option<Text<Loss>>,
    /// Share of packets that arrive twice; the second copy follows at once. Default "0%".
    pub(super) duplicate: Option<Text<Probability>>,
    /// Share of packets that arrive with one bit wrong behind their IP header, so that the receiver's
    /// checksum fails; default "0%".
    pub(super) corrupt: Option<Text<Probability>>,
    /// Propagation delay of each packet, at most "1 h": one duration for all, or a table with a
    /// distribution. With a link layer that acknowledges frames it must be one duration, the same
    /// in both directions. Default "0 s".
    pub(super) delay: Option<NameOrTable<DelayTable>>,
    /// By how much the delay varies from packet to packet, at most `delay`, which must then be one
    /// duration. Not with a link layer that acknowledges frames. Default "0 s".
    pub(super) jitter: Option<Text<Duration>>,
    /// Whether `jitter` is the largest deviation of the delay or its standard deviation; default
    /// "uniform".
    pub(super) jitter_distribution: Option<JitterDistribution>,
    /// Whether packets may overtake each other if their delays vary or change; default "kept".
    pub(super) order: Option<OrderName>,
    /// Share of packets that skip the delay, and so overtake those before them. With it, packets
    /// may overtake each other. Requires a `delay` of one duration above "0 s". Default "0%".
    pub(super) reorder: Option<Text<Probability>>,
    /// How the delays of successive packets are related, if they vary: their rank correlation ("25%");
    /// or the least time in which the delay moves from its shortest to its longest ("1 s", at least
    /// twice a uniform jitter), so that in order the mean is that of the distribution at any rate of
    /// packets. Default "0%": each packet draws its own, and in order, packets that follow each other
    /// fast arrive with nearly the longest delay.
    pub(super) delay_correlation: Option<Text<Correlation>>,
    /// Transmission times are rounded down to whole multiples of this, "1 ms" to "1 s", as in
    /// simulators that count time in such units. Default: exact times.
    pub(super) clock: Option<Text<Duration>>,
    /// Properties that differ from the first node to the second.
    #[serde(default)]
    pub(super) forward: DirectionTable,
    /// Properties that differ from the second node to the first.
    #[serde(default)]
    pub(super) backward: DirectionTable,
    /// The error process, common to both directions; wireless links only; default none.
    pub(super) channel: Option<ChannelTable>,
    /// How the link layer treats lost frames; wireless links only; default "none".
    pub(super) link_layer: Option<NameOrTable<LinkLayerTable>>,
    /// The packets that the link impairs, in both directions: a list of protocols ("tcp", "udp", "icmp"),
    /// addresses ("203.0.113.0/24"), ports ("443", "8000-8100") or several of these with colons between
    /// ("tcp:203.0.113.7:443", `"[2001:db8::1]:443"`). Address and port are those of either end. All other
    /// packets cross the link at once. Not together with a scheme that requires the fate of each frame.
    /// Default "all".
    pub(super) only: Option<Text<Traffic>>,
    /// Packets that the link does not impair, even if they are among those of `only`: a list of the same
    /// form. Default "none".
    pub(super) except: Option<Text<Traffic>>,
    /// The TCP connections that the link resets at both ends, or refuses, among those that it impairs:
    /// "kept" for none; "reset" for those that stand when a change sets it, once; "refused" for those that
    /// open while it is set; "reset after 5 s" for each that long after its first segment; "reset after 1 MB"
    /// for each once one of its ends has received this much payload. Default "kept".
    pub(super) connections: Option<Text<Cut>>,
    /// The name of a cell: wireless links of one cell share its medium, one transmission at a time.
    pub(super) cell: Option<String>,
    /// How the medium of a cell is shared. "ideal": the stations send one after the other, without
    /// collisions. For IEEE 802.11 see `wlans`.
    pub(super) mac: Option<Text<Mac>>,
}

/// How a delay varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum JitterDistribution {
    /// Every delay within `jitter` of the mean is equally likely.
    Uniform,
    /// Normal, truncated at three standard deviations and at a delay of zero.
    Normal,
}

/// Whether packets may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum OrderName {
    /// No: a packet that would overtake arrives together with the packet before it.
    Kept,
    /// Yes: each packet arrives at its own time.
    Overtake,
}

/// The kind of link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum Medium {
    #[default]
    Wired,
    Wireless,
}

/// The properties of one direction of a link that differ from those of the link.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct DirectionTable {
    /// Rate of this direction, "0", or "trace".
    pub(super) rate: Option<Text<LinkRate>>,
    /// The measured trace that this direction's rate follows.
    pub(super) trace: Option<String>,
    /// The queue for transmission.
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Which packets or transmissions are lost.
    pub(super) loss: Option<Text<Loss>>,
    /// Share of packets that arrive twice.
    pub(super) duplicate: Option<Text<Probability>>,
    /// Share of packets that arrive with one bit wrong.
    pub(super) corrupt: Option<Text<Probability>>,
    /// Propagation delay. With a distribution the jitter of the link does not apply.
    pub(super) delay: Option<NameOrTable<DelayTable>>,
    /// By how much the delay varies.
    pub(super) jitter: Option<Text<Duration>>,
    /// The meaning of `jitter`.
    pub(super) jitter_distribution: Option<JitterDistribution>,
    /// Whether packets may overtake each other.
    pub(super) order: Option<OrderName>,
    /// Share of packets that skip the delay. With a distribution that of the link does not apply.
    pub(super) reorder: Option<Text<Probability>>,
    /// How the delays of successive packets are related.
    pub(super) delay_correlation: Option<Text<Correlation>>,
}
