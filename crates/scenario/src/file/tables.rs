//! The tables of a scenario file, as serde reads them. Their comments are the format's reference:
//! the JSON schema carries them.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::QueueLimit;
use schemars::JsonSchema;
use serde::Deserialize;

use super::application::ApplicationTable;
use super::choice::{LinkLayerTable, SchemeEntry, Seeds};
use super::named::NameOrTable;
use super::quantity::{Mac, Metres, Octets, Rate, Text, Window};
use super::wlan::tables::WlanTable;
use crate::model::Measure;

/// A lasthop scenario: a network, its traffic, and the schemes to compare on it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ScenarioFile {
    /// The name in reports; default: the file's name without its extension.
    pub(super) name: Option<String>,
    /// What the scenario is about, in a sentence or two.
    #[serde(default)]
    pub(super) description: String,
    /// When a run ends at the latest, above zero; default "600 s".
    pub(super) duration: Option<Text<Duration>>,
    /// Whether a run ends as soon as every flow with a size or a stop is done; default true.
    pub(super) stop_when_done: Option<bool>,
    /// How many runs a scheme gets, 1 to 10,000, with the seeds 1, 2, and on; or a list of seeds.
    /// Default 10.
    pub(super) seeds: Option<Seeds>,
    /// The rows of the comparison, in order: schemes of `lasthop schemes`, or "no-loss" for the
    /// network without any scheme and without any loss on its links. A table gives a scheme another
    /// label, settings, or `tcp`: settings of TCP for this row, over those of the flows. Default
    /// "none" alone.
    pub(super) schemes: Option<Vec<SchemeEntry>>,
    /// The label of the row that the others are compared with; default "none" if there is one, else
    /// the first.
    pub(super) baseline: Option<String>,
    /// The time series that `--out DIR` writes; default none.
    #[serde(default)]
    pub(super) measure: Vec<Measure>,
    /// Nodes by name; 2 to 2,000.
    pub(super) nodes: BTreeMap<String, NodeTable>,
    /// Links by name; at most 5,000, those of cells included.
    #[serde(default)]
    pub(super) links: BTreeMap<String, LinkTable>,
    /// IEEE 802.11 cells by name.
    #[serde(default)]
    pub(super) wlans: BTreeMap<String, WlanTable>,
    /// Flows by name; 1 to 5,000, or none beside external nodes.
    #[serde(default)]
    pub(super) flows: BTreeMap<String, FlowTable>,
    /// TCP's settings for all flows.
    #[serde(default)]
    pub(super) tcp: TcpTable,
    /// How `lasthop try` runs the flows between real hosts.
    #[serde(default)]
    pub(super) r#try: TryTable,
}

/// How `lasthop try` runs the flows between real hosts, each flow by itself. The simulator does not
/// look at it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TryTable {
    /// Congestion controls of the hosts' kernel, a row of the table each; 1 to 20; default
    /// `["cubic"]`.
    pub(super) congestion: Option<Vec<String>>,
    /// How long a flow runs at most, its settling included, "1 s" to "1 h"; default "12 s".
    pub(super) duration: Option<Text<Duration>>,
    /// How much of the start of a flow without a size is left out of its goodput; less than
    /// `duration`; default "2 s".
    pub(super) settle: Option<Text<Duration>>,
    /// Settings of the hosts' kernels below `net.`, such as `"ipv4.tcp_sack" = "0"`.
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, String>,
    /// Nodes, or groups, that are no real hosts: they and the flows between them stay in the model,
    /// as background to each run.
    #[serde(default)]
    pub(super) simulated: Vec<String>,
}

/// A node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NodeTable {
    /// A host has TCP endpoints; both hosts and routers forward what is for others. An external
    /// node is a real host's place in `lasthop emulate`.
    pub(super) kind: Kind,
    /// What the node is to a scheme. Default: a host with a wireless link is a mobile host, one
    /// without a fixed host; a router with wireless links only is a relay, any other an edge.
    pub(super) role: Option<RoleName>,
    /// Time that the node takes to forward a packet, at most "1 h"; default "0 s".
    pub(super) processing_delay: Option<Text<Duration>>,
    /// Data that may wait in all its interfaces together; default no limit but the queues'.
    pub(super) buffer: Option<Text<Octets>>,
    /// Where its radio stands, east and north, for `wlans` in which not everybody hears everybody;
    /// default `["0 m", "0 m"]`.
    pub(super) position: Option<[Text<Metres>; 2]>,
    /// Ways that packets take from here, given by hand: the neighbour to send to, by destination.
    /// They go before the shortest.
    #[serde(default)]
    pub(super) routes: BTreeMap<String, String>,
    /// So many nodes like this one, 1 to 2,000: "NAME-1", "NAME-2", and on. A flow, a link or a
    /// cell that names "NAME" means each of them.
    #[serde(rename = "count")]
    #[expect(dead_code, reason = "groups are told apart before tables are read")]
    pub(super) count: Option<u32>,
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Host,
    Router,
    External,
}

/// What a node is to a scheme.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoleName {
    FixedHost,
    Edge,
    MobileHost,
    Relay,
    Router,
}

/// A link between two nodes, full duplex unless it is in a cell. "Forward" is from the first node
/// to the second.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkTable {
    /// The names of the two nodes that it joins.
    pub(super) between: [String; 2],
    /// Default "wired".
    #[serde(default)]
    pub(super) kind: Medium,
    /// Rate of both directions, at most "1000 Gbit/s"; "trace" where it follows a measured trace.
    /// Each direction needs a rate, here or of its own.
    pub(super) rate: Option<Text<Rate>>,
    /// A measured trace in the Mahimahi format that the rate follows, relative to the scenario;
    /// wireless links only.
    pub(super) trace: Option<String>,
    /// How much may wait for transmission in each direction; default "100 packets".
    pub(super) queue: Option<Text<QueueLimit>>,
    /// Probability that a packet (wired) or a transmission of a frame (wireless) is lost,
    /// independent of all else; default "0%".
    pub(super) loss: Option<Text<Probability>>,
    /// Propagation delay, at most "1 h"; default "0 s".
    pub(super) delay: Option<Text<Duration>>,
    /// By how much the delay varies from packet to packet, at most `delay`; packets stay in order.
    /// Not with a "stop-and-wait" link layer. Default "0 s".
    pub(super) jitter: Option<Text<Duration>>,
    /// Whether `jitter` is the most that a delay varies by, or its standard deviation; default
    /// "uniform".
    pub(super) jitter_distribution: Option<JitterDistribution>,
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
pub(super) enum JitterDistribution {
    /// Every delay within `jitter` of the mean is as likely.
    Uniform,
    /// Normally, cut at three deviations and at a delay of zero.
    Normal,
}

/// What kind of link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Medium {
    #[default]
    Wired,
    Wireless,
}

/// One direction of a link, where it differs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DirectionTable {
    /// Rate of this direction, or "trace".
    pub(super) rate: Option<Text<Rate>>,
    /// The measured trace that this direction's rate follows.
    pub(super) trace: Option<String>,
    /// How much may wait for transmission.
    pub(super) queue: Option<Text<QueueLimit>>,
    /// Probability that a packet or a transmission is lost.
    pub(super) loss: Option<Text<Probability>>,
}

/// An error process of two states, which begins good: with stays of exponential length, or as
/// recorded. Loss by `loss` comes on top.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ChannelTable {
    /// The good state.
    #[serde(default)]
    pub(super) good: StayTable,
    /// The bad state.
    #[serde(default)]
    pub(super) bad: StayTable,
    /// A recorded trace of states instead of exponential stays, relative to the scenario: lines of
    /// a time in milliseconds and 1 for good or 0 for bad.
    pub(super) states: Option<String>,
}

/// A state of a channel.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StayTable {
    /// Mean of how long a stay lasts, at least "10 us"; for the bad state "0 s" means never. Needed
    /// unless `states` names a trace.
    pub(super) mean: Option<Text<Duration>>,
    /// Probability that a transmission in this state is lost; default "0%" in the good state,
    /// "100%" in the bad one.
    pub(super) loss: Option<Text<Probability>>,
}

/// A flow: an application and what carries it; one each where an end is a group of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FlowTable {
    /// The host that sends, and over TCP opens the connection.
    pub(super) from: String,
    /// The host that receives.
    pub(super) to: String,
    /// What there is to send, and when; default "bulk".
    pub(super) application: Option<NameOrTable<ApplicationTable>>,
    /// What carries it; default "tcp".
    pub(super) transport: Option<TransportName>,
    /// With "bulk": data to transfer, above zero; over UDP rounded up to whole datagrams. Default
    /// without end.
    pub(super) size: Option<Text<Octets>>,
    /// When it starts; default "0 s".
    pub(super) start: Option<Text<Duration>>,
    /// When the application stops writing; default never.
    pub(super) stop: Option<Text<Duration>>,
    /// Over TCP: how it begins; default "handshake".
    pub(super) opening: Option<OpeningName>,
    /// Settings of TCP that differ from those for all flows.
    pub(super) tcp: Option<TcpTable>,
}

/// What carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TransportName {
    /// A connection.
    #[default]
    Tcp,
    /// A datagram for each message of the application, without any repetition.
    Udp,
}

/// How a flow begins.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OpeningName {
    /// With a handshake; and it ends with FINs.
    Handshake,
    /// Established on both sides; and it is never closed.
    Established,
}

/// TCP's settings, for both ends of a flow.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TcpTable {
    /// Largest payload of a segment, "1 B" to "65495 B"; default "1460 B".
    pub(super) segment: Option<Text<Octets>>,
    /// The receiver's buffer and so the largest window advertised, "1 B" to "1 GiB"; default "65535
    /// B". Above that the window scale option is used.
    pub(super) window: Option<Text<Window>>,
    /// Initial congestion window in segments, 1 to 1,000; default 1.
    pub(super) initial_window: Option<u32>,
    /// Initial slow start threshold; default "65535 B".
    pub(super) initial_ssthresh: Option<Text<Window>>,
    /// When the receiver acknowledges data in order; default "every-segment".
    pub(super) acks: Option<Acks>,
    /// With delayed ACKs: the longest delay, at most "10 s"; default "200 ms", and "100 ms" with
    /// "dyndelack".
    pub(super) ack_delay: Option<Text<Duration>>,
    /// Offer timestamps; default false.
    pub(super) timestamps: Option<bool>,
    /// Offer selective acknowledgments; default false, and true with `recovery = "sack"`.
    pub(super) sack: Option<bool>,
    /// Lower bound of the retransmission time-out, "1 ms" to "1 h"; default "1 s".
    pub(super) rto_min: Option<Text<Duration>>,
    /// Retransmission time-out before the first measurement, from `rto-min` to `rto-max`; default
    /// "1 s", or `rto-min` or `rto-max` if they leave no room for it.
    pub(super) rto_initial: Option<Text<Duration>>,
    /// Upper bound of the retransmission time-out, from `rto-min` to "1 h"; default "64 s", or
    /// `rto-min` if that is more.
    pub(super) rto_max: Option<Text<Duration>>,
    /// Granularity of TCP's clock, at most "10 s"; default "1 ms"; "500 ms" in 4.3BSD.
    pub(super) clock_granularity: Option<Text<Duration>>,
    /// Time-outs in a row after which the connection is given up, 1 to 1,000; default 15.
    pub(super) max_timeouts: Option<u32>,
    /// Congestion control: how the congestion window grows and shrinks; default "reno".
    pub(super) congestion: Option<CongestionName>,
    /// Loss recovery: what is lost, and what is sent again; default "reno".
    pub(super) recovery: Option<RecoveryName>,
    /// Send a new segment with each of the first two duplicate ACKs (RFC 3042); default false.
    pub(super) limited_transmit: Option<bool>,
}

impl TcpTable {
    /// These settings, and below them others where these say nothing.
    pub(super) fn over(&self, below: &Self) -> Self {
        Self {
            segment: self.segment.or(below.segment),
            window: self.window.or(below.window),
            initial_window: self.initial_window.or(below.initial_window),
            initial_ssthresh: self.initial_ssthresh.or(below.initial_ssthresh),
            acks: self.acks.or(below.acks),
            ack_delay: self.ack_delay.or(below.ack_delay),
            timestamps: self.timestamps.or(below.timestamps),
            sack: self.sack.or(below.sack),
            rto_min: self.rto_min.or(below.rto_min),
            rto_initial: self.rto_initial.or(below.rto_initial),
            rto_max: self.rto_max.or(below.rto_max),
            clock_granularity: self.clock_granularity.or(below.clock_granularity),
            max_timeouts: self.max_timeouts.or(below.max_timeouts),
            congestion: self.congestion.or(below.congestion),
            recovery: self.recovery.or(below.recovery),
            limited_transmit: self.limited_transmit.or(below.limited_transmit),
        }
    }
}

/// When the receiver acknowledges data in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Acks {
    /// One ACK a segment.
    EverySegment,
    /// One ACK for every second segment, or after `ack-delay`.
    Delayed,
    /// One ACK for one segment at first, and for up to four from the ninth segment on, or after
    /// `ack-delay` (Altman and Jimenez 2003).
    #[serde(rename = "dyndelack")]
    DynDelAck,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CongestionName {
    /// Slow start and congestion avoidance by the number of ACKs (RFC 2001).
    Reno,
    /// The same by the number of octets acknowledged, so that delayed ACKs do not slow it down (RFC
    /// 3465).
    RenoAbc,
    /// One to three segments in the path's queues, by the round-trip time (Brakmo and Peterson
    /// 1995).
    Vegas,
    /// As "reno", but after a loss the window is what the measured bandwidth needs (Mascolo et al.
    /// 2001).
    Westwood,
    /// A cubic function of the time since the last loss (RFC 9438, without hybrid slow start).
    Cubic,
}

/// What is lost, and what is sent again.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecoveryName {
    /// Slow start from the lost segment on, at the third duplicate ACK.
    Tahoe,
    /// Fast recovery that is over with the first ACK of new data; a second loss in a window mostly
    /// waits for a time-out (RFC 2001).
    Reno,
    /// Fast recovery from all losses in a window, one a round trip (RFC 6582).
    NewReno,
    /// Fast recovery from all losses that the receiver's reports show (RFC 6675); needs `sack`.
    Sack,
}
