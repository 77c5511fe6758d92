//! The tables of an IEEE 802.11 cell, as serde reads them. Their comments are the reference, as in
//! [`super::super::tables`].

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::QueueLimit;
use lasthop_sim::wifi::{Preamble, Standard};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::named::NameOrTable;
use crate::file::quantity::{DataRate, Decibels, Hertz, Metres, Octets, Speed, Text, Watts};
use crate::file::tables::ChannelTable;

/// An IEEE 802.11 cell: stations on one channel, which contend for it by the distributed
/// coordination function. Every parameter has the default of its standard.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct WlanTable {
    /// The physical layer.
    pub(super) standard: StandardName,
    /// The nodes that are stations, at least one beside an access point and two without one.
    pub(super) stations: Vec<String>,
    /// The node that bridges the stations to the wired side and to each other (infrastructure).
    /// Without one the stations that hear each other talk directly (ad hoc).
    pub(super) access_point: Option<String>,
    /// The rate of data frames; default the standard's highest.
    pub(super) rate: Option<Text<DataRate>>,
    /// `BSSBasicRateSet`: rates of ACK, CTS and RTS frames, as the standard chooses among them.
    /// Default 1 and 2 Mbit/s, with 802.11a 6, 12 and 24, with 802.11g all of these.
    pub(super) basic_rates: Option<Vec<Text<DataRate>>>,
    /// The preamble of DSSS and CCK frames; default "long". "short" with 802.11b and 802.11g.
    pub(super) preamble: Option<PreambleName>,
    /// How many packets may wait at each station, the one in transmission not counted; default "50
    /// packets".
    pub(super) queue: Option<Text<QueueLimit>>,
    /// dot11RTSThreshold: an RTS precedes data frames that are longer, MAC header and FCS included.
    /// "0 B" for all; default "65535 B", for none.
    pub(super) rts_threshold: Option<Text<Octets>>,
    /// LLC's octets before a datagram, "0 B" to "8 B"; default "8 B": LLC and SNAP (RFC 1042).
    /// ns-2's frames have none.
    pub(super) llc_header: Option<Text<Octets>>,
    /// dot11ShortRetryLimit: transmissions of a frame, or of its RTS, at most; 1 to 255, default 7.
    pub(super) short_retry_limit: Option<u32>,
    /// dot11LongRetryLimit: transmissions of a data frame that an RTS precedes; 1 to 255, default
    /// 4.
    pub(super) long_retry_limit: Option<u32>,
    /// With 802.11g: a CTS to oneself before OFDM frames, for the sake of stations of 802.11b;
    /// default false.
    pub(super) cts_to_self: Option<bool>,
    /// aSlotTime, "1 us" to "1 ms"; default "20 us", "9 us" with 802.11a and 802.11g; "20 us" with
    /// 802.11g beside stations of 802.11b.
    pub(super) slot_time: Option<Text<Duration>>,
    /// How long before a station transmits another one must have begun for it to sense that, "0 us"
    /// to `slot-time`; default `slot-time`: the standard's slot is the time for it (aCCATime,
    /// aRxTxTurnaroundTime, aMACProcessingDelay). "0 us" for carrier sense at once.
    pub(super) carrier_sense_delay: Option<Text<Duration>>,
    /// aSIFSTime, "1 us" to "1 ms"; default "10 us", "16 us" with 802.11a.
    pub(super) sifs_time: Option<Text<Duration>>,
    /// aCWmin, 1 to 32,767; default 31, 15 with 802.11a and 802.11g.
    pub(super) cw_min: Option<u32>,
    /// aCWmax, from `cw-min` to 32,767; default 1023.
    pub(super) cw_max: Option<u32>,
    /// Whether EIFS follows frames that were not decoded; default true.
    pub(super) eifs: Option<bool>,
    /// The rate of the ACK whose duration is in EIFS; default "1 Mbit/s", "6 Mbit/s" with 802.11a.
    pub(super) eifs_rate: Option<Text<DataRate>>,
    /// `ACKTimeout` and `CTSTimeout`, from the end of a frame, "1 us" to "10 ms"; default aSIFSTime
    /// + aSlotTime + aPHY-RX-START-Delay.
    pub(super) ack_timeout: Option<Text<Duration>>,
    /// Whether a station resets a NAV that an RTS has set if nothing follows; default true.
    pub(super) nav_reset: Option<bool>,
    /// Who hears whom; default "everywhere". All else needs the nodes' `position`.
    pub(super) propagation: Option<NameOrTable<PropagationTable>>,
    /// Whether a strong frame survives weak ones that overlap it; default no.
    pub(super) capture: Option<CaptureTable>,
    /// Frames that are lost without a collision, between any two stations; default none.
    pub(super) errors: Option<ErrorTable>,
    /// Directions between two stations that have errors of their own, instead of `errors`; by names
    /// of your choice.
    #[serde(default)]
    pub(super) link_errors: BTreeMap<String, LinkErrorTable>,
    /// How stations that do not hear each other are reached, in a cell without an access point:
    /// "shortest-path", computed once, the default; or "aodv", found when it is needed (RFC 3561).
    /// A table sets its parameters.
    pub(super) routing: Option<NameOrTable<RoutingTable>>,
    /// Where the stations stand at first, instead of their nodes' `position`: anywhere, by the
    /// seed. With `routing = "aodv"`.
    pub(super) placement: Option<PlacementTable>,
    /// How the stations move. With `routing = "aodv"` or an access point.
    pub(super) mobility: Option<MobilityTable>,
    /// What is different at a station, by its node's name.
    #[serde(default)]
    pub(super) except: BTreeMap<String, StationTable>,
}

/// A physical layer.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(super) enum StandardName {
    /// Direct sequence at 2.4 GHz: 1 and 2 Mbit/s.
    #[serde(rename = "802.11")]
    Dsss,
    /// 1, 2, 5.5 and 11 Mbit/s.
    #[serde(rename = "802.11b")]
    HrDsss,
    /// OFDM at 5 GHz: 6 to 54 Mbit/s.
    #[serde(rename = "802.11a")]
    Ofdm,
    /// The rates of 802.11b and of 802.11a at 2.4 GHz.
    #[serde(rename = "802.11g")]
    Erp,
}

impl StandardName {
    pub(super) const fn standard(self) -> Standard {
        match self {
            Self::Dsss => Standard::Dsss,
            Self::HrDsss => Standard::HrDsss,
            Self::Ofdm => Standard::Ofdm,
            Self::Erp => Standard::Erp,
        }
    }

    pub(super) const fn as_written(self) -> &'static str {
        match self {
            Self::Dsss => "802.11",
            Self::HrDsss => "802.11b",
            Self::Ofdm => "802.11a",
            Self::Erp => "802.11g",
        }
    }
}

/// The preamble of DSSS and CCK frames.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PreambleName {
    /// 192 us with the PLCP header.
    Long,
    /// 96 us with the PLCP header.
    Short,
}

impl PreambleName {
    pub(super) const fn preamble(self) -> Preamble {
        match self {
            Self::Long => Preamble::Long,
            Self::Short => Preamble::Short,
        }
    }
}

/// How stations are reached, and AODV's parameters (RFC 3561, section 10).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RoutingTable {
    /// The protocol.
    pub(super) protocol: RoutingName,
    /// `ACTIVE_ROUTE_TIMEOUT`: how long a route is good for after its last use, "1 ms" to "1 h";
    /// default "3 s".
    pub(super) active_route_timeout: Option<Text<Duration>>,
    /// `MY_ROUTE_TIMEOUT`: the lifetime in a destination's own RREPs; default twice
    /// `active-route-timeout`.
    pub(super) my_route_timeout: Option<Text<Duration>>,
    /// `DELETE_PERIOD`: how long an invalid route is remembered; default five times the larger of
    /// `active-route-timeout` and `hello-interval`.
    pub(super) delete_period: Option<Text<Duration>>,
    /// `NODE_TRAVERSAL_TIME`: from node to node, queues included, "1 us" to "10 s"; default "40
    /// ms". `NET_TRAVERSAL_TIME`, `RING_TRAVERSAL_TIME`, `PATH_DISCOVERY_TIME` and
    /// `BLACKLIST_TIMEOUT` follow.
    pub(super) node_traversal_time: Option<Text<Duration>>,
    /// `NET_DIAMETER`: hops at most, 1 to 255; default 35.
    pub(super) net_diameter: Option<u32>,
    /// `RREQ_RETRIES`: further attempts over the whole network, 0 to 20; default 2.
    pub(super) rreq_retries: Option<u32>,
    /// `RREQ_RATELIMIT`: RREQs that a node originates in a second at most, 1 to 1,000; default 10.
    pub(super) rreq_ratelimit: Option<u32>,
    /// `RERR_RATELIMIT`: RERRs that a node sends in a second at most, 0 to 1,000; default 10.
    pub(super) rerr_ratelimit: Option<u32>,
    /// `TTL_START`: how far the first RREQ of a search goes, 1 to 255; default 1.
    pub(super) ttl_start: Option<u32>,
    /// `TTL_INCREMENT`: how much farther the next one goes, 1 to 255; default 2.
    pub(super) ttl_increment: Option<u32>,
    /// `TTL_THRESHOLD`: beyond this RREQs go everywhere, 0 to 255; default 7.
    pub(super) ttl_threshold: Option<u32>,
    /// `TIMEOUT_BUFFER`: hops more to wait for in an expanding ring search, 0 to 255; default 2.
    pub(super) timeout_buffer: Option<u32>,
    /// Whether only the destination replies (the flag D); default false.
    pub(super) destination_only: Option<bool>,
    /// Whether who replies in a destination's place tells it, too (the flag G); default false.
    pub(super) gratuitous_replies: Option<bool>,
    /// `HELLO_INTERVAL`, "1 ms" to "1 h", for nodes on active routes to send Hellos; default no
    /// Hellos.
    pub(super) hello_interval: Option<Text<Duration>>,
    /// `ALLOWED_HELLO_LOSS`: so many intervals of silence mean that a neighbour is gone, 1 to 100;
    /// default 2.
    pub(super) allowed_hello_loss: Option<u32>,
    /// Whether a frame that the link layer gave up means a broken link; default true. False needs
    /// `hello-interval`.
    pub(super) link_layer_feedback: Option<bool>,
    /// Broadcasts that a broadcast sets off wait up to this, at random, at most "10 s"; default "10
    /// ms".
    pub(super) broadcast_jitter: Option<Text<Duration>>,
    /// Packets that may wait for routes at a node, 1 to 100,000; the oldest makes room. Default 64.
    pub(super) buffer: Option<u32>,
}

/// A way to find routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoutingName {
    /// Fewest hops, computed once from who hears whom.
    #[default]
    ShortestPath,
    /// Ad hoc On-Demand Distance Vector (RFC 3561).
    Aodv,
}

/// Where stations stand at first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PlacementTable {
    /// Anywhere in an area of this width and depth, each station by itself; another place for each
    /// seed.
    pub(super) area: [Text<Metres>; 2],
    /// Two stations that are to be so many hops from each other: places are drawn until they are.
    pub(super) apart: Option<ApartTable>,
}

/// Two stations and the hops between them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ApartTable {
    /// The one.
    pub(super) from: String,
    /// The other.
    pub(super) to: String,
    /// Hops on the shortest way, 1 to 100.
    pub(super) hops: u32,
}

/// How stations move.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MobilityTable {
    /// The model.
    pub(super) model: MobilityName,
    /// Waypoints are anywhere in an area of this width and depth.
    pub(super) area: [Text<Metres>; 2],
    /// From the slowest to the fastest, "0.001 m/s" to "1000 m/s", uniform between; above zero,
    /// because with zero walks last for ever and the mean speed falls all the time.
    pub(super) speed: [Text<Speed>; 2],
    /// The stay at each waypoint, at most "1 h"; default "0 s".
    pub(super) pause: Option<Text<Duration>>,
    /// How often stations that walk are put where they are by then, "1 ms" to "1 min"; default "100
    /// ms".
    pub(super) interval: Option<Text<Duration>>,
    /// Stations that stay where they are; default none.
    #[serde(default)]
    pub(super) fixed: Vec<String>,
}

/// A model of mobility.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MobilityName {
    /// Straight to a point drawn anywhere in the area, at a speed drawn for the walk; a pause; and
    /// again.
    RandomWaypoint,
}

/// What is different at a station.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StationTable {
    /// The rate of its data frames. A frame goes at the lower of its sender's and its receiver's
    /// rate.
    pub(super) rate: Option<Text<DataRate>>,
    /// How many packets may wait.
    pub(super) queue: Option<Text<QueueLimit>>,
}

/// Who hears whom.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PropagationTable {
    /// The model.
    pub(super) kind: PropagationKind,
    /// With "ranges": up to this distance frames are decoded.
    pub(super) reception: Option<Text<Metres>>,
    /// With "ranges": up to this distance frames are sensed, and disturb others; default as
    /// `reception`.
    pub(super) carrier_sense: Option<Text<Metres>>,
    /// With "two-ray-ground", as all below: default "281.83815 mW".
    pub(super) transmit_power: Option<Text<Watts>>,
    /// The power that a frame needs to be decoded; default 3.652e-10 W, which is about "-64.37
    /// dBm": 250 m.
    pub(super) reception_threshold: Option<Text<Watts>>,
    /// The power that a frame needs to be sensed; default 1.559e-11 W, which is about "-78.07 dBm":
    /// 550 m.
    pub(super) carrier_sense_threshold: Option<Text<Watts>>,
    /// Of the antennas at both ends; default "0 dB".
    pub(super) antenna_gain: Option<Text<Decibels>>,
    /// Of both antennas above the ground, "1 cm" to "1 km"; default "1.5 m".
    pub(super) antenna_height: Option<Text<Metres>>,
    /// Default "914 MHz".
    pub(super) frequency: Option<Text<Hertz>>,
    /// Loss in the stations themselves, from "0 dB", the default.
    pub(super) system_loss: Option<Text<Decibels>>,
}

/// A model of propagation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PropagationKind {
    /// Everybody hears everybody.
    #[default]
    Everywhere,
    /// Two distances.
    Ranges,
    /// Friis near by, reflection from the ground far away; the defaults are those of ns-2.
    TwoRayGround,
}

/// Whether a strong frame survives weak ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CaptureTable {
    /// By how much a frame must be stronger than all others together, above "0 dB"; default "10
    /// dB".
    pub(super) threshold: Option<Text<Decibels>>,
    /// Whether a receiver leaves a frame for a later one that is so much stronger; default false.
    #[serde(default)]
    pub(super) later_frames: bool,
}

/// Frames that are lost without a collision. Its parts are independent of each other.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ErrorTable {
    /// The probability that a frame is lost, whatever its length; default "0%".
    pub(super) packet_error_rate: Option<Text<Probability>>,
    /// The probability that a bit is wrong, at any rate, so that long frames are lost more often;
    /// default "0%".
    pub(super) bit_error_rate: Option<Text<Probability>>,
    /// The same by rate, where it differs: `{ "11 Mbit/s" = "0.001%" }`.
    #[serde(default)]
    pub(super) bit_error_rates: BTreeMap<String, Text<Probability>>,
    /// A good and a bad state, by stays of exponential length or as recorded.
    pub(super) channel: Option<ChannelTable>,
    /// Whether RTS, CTS and ACK frames are lost, too; default false.
    pub(super) control_frames: Option<bool>,
}

/// Errors of one direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkErrorTable {
    /// The station that sends.
    pub(super) from: String,
    /// The station that receives.
    pub(super) to: String,
    /// What is lost.
    pub(super) errors: ErrorTable,
}
