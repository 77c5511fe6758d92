//! The results of a run, in the form of `lasthop run --json`.

use std::collections::BTreeMap;

use lasthop_agent::Counter;
use lasthop_sim::UdpOutcome;
use serde::{Deserialize, Serialize};

use super::roaming::RoamingSummary;
use crate::agents::AgentLoad;
use crate::sessions::{SessionSummary, SessionTotals};

/// What came of one run; `lasthop run --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The scenario's name.
    pub scenario: String,
    /// The scheme's label.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// Warm-up at the start of the run, in seconds. All figures except `duration_s` and completion
    /// times are of the rest, the measured time.
    pub warm_up_s: f64,
    /// Each flow.
    pub flows: Vec<FlowSummary>,
    /// Each session.
    pub sessions: Vec<SessionSummary>,
    /// Each station of each 802.11 cell; empty without a cell.
    pub stations: Vec<StationSummary>,
    /// How clients roamed between access points; null where none do.
    pub roaming: Option<RoamingSummary>,
    /// All flows together.
    pub aggregate: Aggregate,
    /// Data at risk in agents, and their memory.
    pub agents: AgentLoad,
    /// Counts by name; the reference explains the names.
    pub counters: BTreeMap<String, u64>,
}

/// What came of one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// The flow's name.
    #[serde(rename = "flow")]
    pub name: String,
    /// The scheme's label.
    pub scheme: String,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Goodput in bits per second, measured until the flow completes or the run ends. Measurement
    /// begins with the flow, or with the end of the warm-up if that is later.
    pub goodput_bps: f64,
    /// Octets delivered to the application.
    pub bytes: u64,
    /// "tcp" or "udp".
    pub transport: String,
    /// Seconds from the flow's start to its last octet; null over UDP, and for a flow that has no
    /// size or did not complete.
    pub completion_s: Option<f64>,
    /// Seconds from the flow's start until its sender gave up; null if it did not, and over UDP.
    pub gave_up_s: Option<f64>,
    /// Seconds from the flow's start until its sender was reset; null if it was not, and over UDP.
    pub reset_s: Option<f64>,
    /// Retransmitted segments; null over UDP.
    pub retransmits: Option<u64>,
    /// Expiries of the retransmission timer; null over UDP.
    pub timeouts: Option<u64>,
    /// Fast retransmits; null over UDP.
    pub fast_retransmits: Option<u64>,
    /// Duplicate ACKs that the sender received; null over UDP.
    pub duplicate_acks: Option<u64>,
    /// Mean of the round-trip times that the sender measured, in seconds; null over UDP.
    pub rtt_mean_s: Option<f64>,
    /// The fate of its datagrams; null over TCP.
    pub datagrams: Option<Datagrams>,
}

/// What became of datagrams: of one flow, or of all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams in transit at the end of the run. `received`, `lost` and `in_transit` add up to `sent`;
    /// with a `warm-up`, they include the datagrams in transit at its end, and `sent` does not.
    pub in_transit: u64,
    /// Duplicates that arrived.
    pub duplicated: u64,
    /// Datagrams that arrived after one sent later.
    pub out_of_order: u64,
    /// Mean one-way delay, in seconds; null if nothing arrived.
    pub delay_mean_s: Option<f64>,
    /// Median of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_median_s: Option<f64>,
    /// 95th percentile of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end of the run, in seconds (RFC 3550, section 6.4.1); for several
    /// flows, that of the worst.
    pub jitter_s: Option<f64>,
}

impl Datagrams {
    /// The datagrams of one flow.
    pub(super) fn from_outcome(outcome: &UdpOutcome) -> Self {
        let UdpOutcome { sent, received, lost, in_transit, duplicated, out_of_order, delay } = *outcome;
        Self {
            sent,
            received,
            lost,
            in_transit,
            duplicated,
            out_of_order,
            delay_mean_s: delay.map(|delay| delay.mean_s),
            delay_median_s: delay.map(|delay| delay.median_s),
            delay_p95_s: delay.map(|delay| delay.p95_s),
            jitter_s: delay.map(|delay| delay.jitter_s),
        }
    }

    /// The datagrams of both together.
    pub(super) fn with(self, other: Self) -> Self {
        let received = self.received + other.received;
        let total = |of: Self| of.delay_mean_s.map_or(0.0, |mean| mean * of.received as f64);
        let worst = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
            (Some(ours), Some(theirs)) => Some(ours.max(theirs)),
            _ => ours.or(theirs),
        };
        Self {
            sent: self.sent + other.sent,
            received,
            lost: self.lost + other.lost,
            in_transit: self.in_transit + other.in_transit,
            duplicated: self.duplicated + other.duplicated,
            out_of_order: self.out_of_order + other.out_of_order,
            delay_mean_s: (received > 0).then(|| (total(self) + total(other)) / received as f64),
            delay_median_s: worst(self.delay_median_s, other.delay_median_s),
            delay_p95_s: worst(self.delay_p95_s, other.delay_p95_s),
            jitter_s: worst(self.jitter_s, other.jitter_s),
        }
    }

    /// Lost datagrams in percent of all that arrived or were lost; `None` without any.
    pub fn lost_percent(&self) -> Option<f64> {
        let decided = self.received + self.lost;
        (decided > 0).then(|| self.lost as f64 / decided as f64 * 100.0)
    }
}

/// What a station of an IEEE 802.11 cell had of the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationSummary {
    /// The cell's name.
    pub wlan: String,
    /// The node's name.
    #[serde(rename = "station")]
    pub name: String,
    /// Frames that it delivered or gave up. Each packet of an A-MPDU counts as one, here and below.
    pub frames: u64,
    /// Transmissions of these frames.
    pub transmissions: u64,
    /// Frames that it gave up.
    pub frames_given_up: u64,
    /// Seconds that it spent transmitting data frames, RTS and CTS-to-self, including failed
    /// transmissions. Acknowledgments and interframe spaces do not count.
    pub air_time_s: f64,
    /// `air_time_s` as a share of the measured time.
    pub air_time_share: f64,
    /// Seconds that others spent transmitting data frames to it, likewise.
    pub air_time_to_s: f64,
    /// Seconds for which it was awake; null for a station that is not in power-save mode.
    pub awake_s: Option<f64>,
    /// `awake_s` as a share of the measured time; null likewise.
    pub awake_share: Option<f64>,
    /// Mean time that a frame waited at the head of the queue for its first transmission, in
    /// seconds; null without frames. Packets that go with the head have not waited there.
    pub access_mean_s: Option<f64>,
}

/// All flows together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Goodput of all flows and sessions over TCP together, in bits per second: their octets over
    /// the time from the start of the first to the end of the last. If there are none, that over
    /// UDP.
    pub goodput_bps: f64,
    /// Jain's fairness index of the goodputs of these flows and sessions; null if nothing arrived.
    pub jain_fairness: Option<f64>,
    /// Seconds until the last flow with a size completed, from the start of the first such flow;
    /// null if one did not complete, or if there is none.
    pub completion_s: Option<f64>,
    /// Retransmitted segments of all flows and sessions.
    pub retransmits: u64,
    /// Expiries of the retransmission timer in all flows and sessions.
    pub timeouts: u64,
    /// Fast retransmits of all flows and sessions.
    pub fast_retransmits: u64,
    /// Goodput of all flows over UDP together, in bits per second; null without such flows.
    pub udp_goodput_bps: Option<f64>,
    /// The fate of their datagrams; null without such flows.
    pub datagrams: Option<Datagrams>,
    /// All sessions, by kind; null without sessions.
    pub sessions: Option<SessionTotals>,
    /// Sum of the stations' `air_time_share`, divided by the number of channels of all cells; each of
    /// the frames that collide counts. Null without an 802.11 cell.
    pub air_time_share: Option<f64>,
    /// Jain's fairness index of the air time of clients of access points, in both directions together: of those that have a
    /// flow over TCP, or over UDP if there are none. Null unless there are two such clients or more.
    pub air_time_fairness: Option<f64>,
}

impl RunSummary {
    /// How much was counted; 0 if this run has no such counter.
    pub fn count(&self, counter: &Counter) -> u64 {
        self.counters.get(counter.name).copied().unwrap_or(0)
    }

    /// Whether anything but the seed differs.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        *self != Self { seed: self.seed, ..other.clone() }
    }

    /// The part of the measured time in which a station in power-save mode was awake, mean over these
    /// stations, from 0 to 1; `None` without any.
    pub fn awake_share(&self) -> Option<f64> {
        let shares: Vec<f64> = self.stations.iter().filter_map(|station| station.awake_share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}
