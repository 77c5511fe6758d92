//! The table of a cell, as serde reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_sim::queue::DriverQueue;
use lasthop_wifi::{Band, PhyConfig, PpduDurations, Preamble, Standard};
use schemars::JsonSchema;
use serde::Deserialize;

use super::aggregation::AggregationTable;
use super::errors::{ErrorTable, LinkErrorTable};
use super::mobility::{MobilityTable, PlacementTable};
use super::paths::PathTable;
use super::power_save::PowerSaveTable;
use super::program::ProgramTable;
use super::propagation::{CaptureTable, PropagationTable};
use super::rates::Rates;
use super::roaming::RoamingTable;
use super::routing::RoutingTable;
use super::scheduler::SchedulerTable;
use crate::file::link::queue::QueueTable;
use crate::file::named::NameOrTable;
use crate::file::quantity::{ChannelWidth, DataRate, Guard, Octets, Text, Whole};

/// An IEEE 802.11 cell: stations on one channel, which contend for it with the distributed
/// coordination function. Every parameter has the default of its standard.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct WlanTable {
    /// The physical layer.
    pub(super) standard: StandardName,
    /// The nodes that are stations: at least one in addition to an access point, or at least two
    /// without one.
    pub(super) stations: Vec<String>,
    /// The node that bridges the stations to the wired side and to each other (infrastructure).
    /// Without an access point, stations that hear each other communicate directly (ad hoc).
    pub(super) access_point: Option<String>,
    /// The frequency band of 802.11n ("2.4 GHz" or "5 GHz") or 802.11ax (also "6 GHz"); default "5 GHz". All others
    /// have one.
    pub(super) band: Option<BandName>,
    /// With 802.11n, ac and ax: the width of the channel, which no frame exceeds. Default "20 MHz"; "80 MHz" with 802.11ac
    /// and ax at 5 and 6 GHz.
    pub(super) width: Option<Text<ChannelWidth>>,
    /// With 802.11n, ac and ax: the number of spatial streams of rates that do not give it, 1 to 8 (802.11n: 4); default 1.
    pub(super) streams: Option<Whole<1, 8>>,
    /// With 802.11n, ac and ax: the guard interval of rates that do not give it: "400 ns" (802.11n and ac), "800 ns", the
    /// default, "1600 ns" or "3200 ns" (802.11ax).
    pub(super) guard_interval: Option<Text<Guard>>,
    /// How the durations of frames of 802.11n, ac and ax are computed: "standard", the default, or as "ns-3" computes them.
    pub(super) durations: Option<DurationsName>,
    /// The rate of data frames; default the standard's highest with the cell's streams, width and guard interval. A rate of
    /// 802.11n, ac or ax is written "MCS 7", or with all that differs from the cell: "VHT MCS 8, 2 streams, 40 MHz, 400 ns".
    pub(super) rate: Option<Text<DataRate>>,
    /// With 802.11n, ac and ax: "block-ack", the default: frames carry as many packets to one receiver as fit (A-MPDU), and
    /// block acks say which have arrived. "none": each frame carries one packet. A table sets its parameters.
    pub(super) aggregation: Option<NameOrTable<AggregationTable>>,
    /// `BSSBasicRateSet`: rates of ACK, CTS and RTS frames, chosen as in the standard. Default 1
    /// and 2 Mbit/s, at 5 and 6 GHz 6, 12 and 24, with 802.11g, n and ax at 2.4 GHz all of these.
    pub(super) basic_rates: Option<Vec<Text<DataRate>>>,
    /// The preamble of DSSS and CCK frames; default "long". "short" is possible with 802.11b and
    /// 802.11g.
    pub(super) preamble: Option<PreambleName>,
    /// How many packets may wait at each station, not counting the one in transmission; default
    /// "50 packets"; "1000 packets" from 802.11n on. A discipline that manages the queue, such as "fq-codel", is one of the
    /// interface: its driver takes packets from there into a queue of its own, `driver-queue`. With `scheduler = "airtime"`,
    /// "8192 packets" and the flow queues of "fq-codel" with the defaults of mac80211: 4,096 of them, a `quantum` of "300 B",
    /// a `target` of "20 ms", a `memory-limit` of "16 MiB" ("4 MiB" before 802.11ac).
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Which packet in the queue of a station is sent next; default "fifo".
    pub(super) scheduler: Option<NameOrTable<SchedulerTable>>,
    /// How much the driver may have of what waits above it: "123 packets", the default with a discipline as `queue`;
    /// "2 aggregates", the default with `scheduler = "airtime"`: what goes into two transmissions, as with ath9k; or
    /// "unlimited", as with devices that have a queue for each receiver. What is being transmitted counts.
    pub(super) driver_queue: Option<Text<DriverQueue>>,
    /// dot11RTSThreshold: an RTS precedes data frames that are longer than this, MAC header and FCS included, and
    /// A-MPDUs. "0 B" for all frames; default "65535 B", "4692480 B" from 802.11n on: for none.
    pub(super) rts_threshold: Option<Text<Octets>>,
    /// Octets of LLC before a datagram, "0 B" to "8 B"; default "8 B": LLC and SNAP (RFC 1042).
    /// Frames in ns-2 have none.
    pub(super) llc_header: Option<Text<Octets>>,
    /// dot11ShortRetryLimit: maximum number of transmissions of a frame, or of its RTS; 1 to 255,
    /// default 7.
    pub(super) short_retry_limit: Option<Whole<1, 255>>,
    /// dot11LongRetryLimit: maximum number of transmissions of a data frame that an RTS precedes; 1
    /// to 255, default 4.
    pub(super) long_retry_limit: Option<Whole<1, 255>>,
    /// With 802.11g, or 802.11n or ax at 2.4 GHz: whether a CTS-to-self precedes OFDM frames, for stations of 802.11b; default
    /// false.
    pub(super) cts_to_self: Option<bool>,
    /// aSlotTime, "1 us" to "1 ms"; default "20 us"; "9 us" from 802.11a and g on; "20 us" at 2.4 GHz if there are stations of 802.11b.
    pub(super) slot_time: Option<Text<Duration>>,
    /// How long before a station's transmission another station must have begun to transmit for the
    /// first to sense it, "0 us" to `slot-time`. Default `slot-time`: the standard's slot is the
    /// time for this (aCCATime, aRxTxTurnaroundTime, aMACProcessingDelay). "0 us" means
    /// instantaneous carrier sense.
    pub(super) carrier_sense_delay: Option<Text<Duration>>,
    /// AIFSN: the slots between SIFS and a backoff, 1 to 15; default 2, 3 from 802.11n on (best effort).
    pub(super) aifsn: Option<Whole<1, 15>>,
    /// The TXOP limit: for how long a station that has gained the medium may send one frame after the other, a SIFS apart,
    /// "0 us" to "20 ms". Default "0 us": one frame. IEEE 802.11 has "2528 us" for best effort since its edition of 2016.
    pub(super) txop_limit: Option<Text<Duration>>,
    /// aSIFSTime, "1 us" to "1 ms"; default "10 us", "16 us" at 5 and 6 GHz.
    pub(super) sifs_time: Option<Text<Duration>>,
    /// aCWmin, 1 to 32,767; default 31, 15 from 802.11a and g on.
    pub(super) cw_min: Option<Whole<1, 32_767>>,
    /// aCWmax, from `cw-min` to 32,767; default 1023.
    pub(super) cw_max: Option<Whole<1, 32_767>>,
    /// Whether EIFS follows frames that were not decoded; default true.
    pub(super) eifs: Option<bool>,
    /// The rate of the ACK whose duration is part of EIFS; default "1 Mbit/s", "6 Mbit/s" at 5
    /// and 6 GHz.
    pub(super) eifs_rate: Option<Text<DataRate>>,
    /// `ACKTimeout` and `CTSTimeout`, counted from the end of a frame, "1 us" to "10 ms". Default:
    /// `aSIFSTime + aSlotTime + aPHY-RX-START-Delay`.
    pub(super) ack_timeout: Option<Text<Duration>>,
    /// Whether a station resets a NAV that was set by an RTS if nothing follows; default true.
    pub(super) nav_reset: Option<bool>,
    /// Whether all stations understand options in frames. With false, the default, only stations
    /// with an agent that uses options understand them. Other stations do not acknowledge frames
    /// that have options.
    pub(super) link_options: Option<bool>,
    /// If a station did not acknowledge the first frame with options, it is sent frames without
    /// options for this time before options are tried again; "1 ms" to "1 h", default "1 s".
    pub(super) options_probe_interval: Option<Text<Duration>>,
    /// Which stations hear each other; default "everywhere". All other models need the nodes'
    /// `position`.
    pub(super) propagation: Option<NameOrTable<PropagationTable>>,
    /// Whether a strong frame survives weak ones that overlap it; default no.
    pub(super) capture: Option<CaptureTable>,
    /// Losses of frames without a collision, between any two stations; default none.
    pub(super) errors: Option<ErrorTable>,
    /// Directions between two stations that have errors of their own instead of `errors`, under
    /// freely chosen names.
    #[serde(default)]
    pub(super) link_errors: BTreeMap<String, LinkErrorTable>,
    /// Dozing stations, in a cell with an access point; default none, and no beacons.
    pub(super) power_save: Option<PowerSaveTable>,
    /// How stations that do not hear each other are reached, in a cell without an access point:
    /// "shortest-path", the default, which is computed once; or "aodv", which finds routes on
    /// demand (RFC 3561). A table sets its parameters.
    pub(super) routing: Option<NameOrTable<RoutingTable>>,
    /// Random initial positions of the stations, by the seed, instead of their nodes' `position`.
    /// Needs `routing = "aodv"` or `roaming`, where access points keep theirs.
    pub(super) placement: Option<PlacementTable>,
    /// How the stations move. Needs `routing = "aodv"`, an access point or `roaming`.
    pub(super) mobility: Option<MobilityTable>,
    /// Paths that stations follow instead, by their nodes' names.
    #[serde(default)]
    pub(super) paths: BTreeMap<String, PathTable>,
    /// The program of an event, between whose sessions the stations walk, instead. Needs `roaming`.
    pub(super) program: Option<ProgramTable>,
    /// Several access points, among which the stations roam, instead of one.
    pub(super) roaming: Option<RoamingTable>,
    /// Properties that differ at a station, by its node's name.
    #[serde(default)]
    pub(super) except: BTreeMap<String, StationTable>,
}

impl WlanTable {
    /// The access points, each with its key.
    pub(super) fn access_points(&self) -> impl Iterator<Item = (Vec<String>, &String)> {
        let one = self.access_point.iter().map(|node| (vec!["access-point".to_owned()], node));
        let several = self.roaming.iter().flat_map(|roaming| roaming.access_points.iter().enumerate());
        let key = |index: usize| vec!["roaming".to_owned(), "access-points".to_owned(), index.to_string()];
        one.chain(several.map(move |(index, node)| (key(index), node)))
    }

    /// The nodes that are stations, access points first.
    pub(super) fn all_stations(&self) -> impl Iterator<Item = &String> {
        self.access_points().map(|(_, node)| node).chain(&self.stations)
    }

    /// How its rates are read.
    pub(super) fn rates<'a>(&self, phy: &'a PhyConfig) -> Rates<'a> {
        Rates {
            phy,
            standard: self.standard.as_written(),
            streams: self.streams.map(|Whole(streams)| streams as u8),
            guard_interval: self.guard_interval.map(|Text(Guard(guard_interval))| guard_interval),
        }
    }
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
    /// HT at 2.4 or 5 GHz: MCS 0 to 31, up to 40 MHz.
    #[serde(rename = "802.11n")]
    Ht,
    /// VHT at 5 GHz: MCS 0 to 9, up to 160 MHz and 8 streams.
    #[serde(rename = "802.11ac")]
    Vht,
    /// HE at 2.4, 5 or 6 GHz, for one user a frame: MCS 0 to 11, up to 160 MHz and 8 streams.
    #[serde(rename = "802.11ax")]
    He,
}

/// A frequency band.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(super) enum BandName {
    /// 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2_4,
    /// 5 GHz.
    #[serde(rename = "5 GHz")]
    Ghz5,
    /// 6 GHz.
    #[serde(rename = "6 GHz")]
    Ghz6,
}

impl BandName {
    pub(super) const ALL: [Self; 3] = [Self::Ghz2_4, Self::Ghz5, Self::Ghz6];

    pub(super) const fn band(self) -> Band {
        match self {
            Self::Ghz2_4 => Band::Ghz2_4,
            Self::Ghz5 => Band::Ghz5,
            Self::Ghz6 => Band::Ghz6,
        }
    }

    pub(super) const fn as_written(self) -> &'static str {
        match self {
            Self::Ghz2_4 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
            Self::Ghz6 => "6 GHz",
        }
    }
}

/// How the durations of frames of 802.11n, ac and ax are computed.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DurationsName {
    /// By the standard (TXTIME).
    Standard,
    /// As in ns-3, for comparisons: without the rounding of HT and VHT frames with a guard interval of 400 ns, without
    /// VHT-SIG-B, with HE training fields of 8 us.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl From<DurationsName> for PpduDurations {
    fn from(name: DurationsName) -> Self {
        match name {
            DurationsName::Standard => Self::Standard,
            DurationsName::Ns3 => Self::Ns3,
        }
    }
}

impl StandardName {
    pub(super) const fn standard(self) -> Standard {
        match self {
            Self::Dsss => Standard::Dsss,
            Self::HrDsss => Standard::HrDsss,
            Self::Ofdm => Standard::Ofdm,
            Self::Erp => Standard::Erp,
            Self::Ht => Standard::Ht,
            Self::Vht => Standard::Vht,
            Self::He => Standard::He,
        }
    }

    pub(super) const fn as_written(self) -> &'static str {
        match self {
            Self::Dsss => "802.11",
            Self::HrDsss => "802.11b",
            Self::Ofdm => "802.11a",
            Self::Erp => "802.11g",
            Self::Ht => "802.11n",
            Self::Vht => "802.11ac",
            Self::He => "802.11ax",
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

/// Properties that differ at a station.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StationTable {
    /// The rate of its data frames. A frame is sent at the lower of its sender's and its receiver's
    /// rate.
    pub(super) rate: Option<Text<DataRate>>,
    /// How many packets may wait, or the discipline that manages them.
    pub(super) queue: Option<NameOrTable<QueueTable>>,
    /// Which of them is sent next.
    pub(super) scheduler: Option<NameOrTable<SchedulerTable>>,
    /// How much its driver may have.
    pub(super) driver_queue: Option<Text<DriverQueue>>,
    /// The weight of the station where others have `scheduler = "airtime"`, 1 to 65,535; default 256. Its share of the air
    /// time is in proportion to it.
    pub(super) airtime_weight: Option<Whole<1, 65_535>>,
    /// Whether the station understands options in frames, regardless of schemes.
    pub(super) link_options: Option<bool>,
}
