//! What a session of a trial came to, between real hosts and in the simulator: the same figures of
//! both, from the same books.

use lasthop_scenario::{Scenario, SessionModel};
use lasthop_sim::{DialogueOutcome, SessionOutcome, SessionResult, StreamOutcome, UdpOutcome};
use serde::Serialize;

use crate::emulator;
use crate::gateway::packet_loop::LoopReport;

/// What one run brought for one of its sessions.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRun {
    /// The session.
    pub session: String,
    /// "voice", "web", "mail", "ftp" or "video".
    pub kind: &'static str,
    /// Both hosts' congestion control; `None` of a call or a video.
    pub congestion: Option<String>,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links, and of what the session draws.
    pub seed: u64,
    /// The flows of the same run.
    pub beside: Vec<String>,
    /// Between real hosts.
    pub real: SessionFigures,
    /// In the simulator, with its own TCP, same seed and time; `None` for congestion controls that
    /// it does not have.
    pub predicted: Option<SessionFigures>,
    /// Every octet arrived as it was sent.
    pub intact: bool,
    /// What the gateway's packet loop did; `None` without a gateway.
    pub gateway: Option<LoopReport>,
    /// How the emulator did.
    pub emulator: emulator::Summary,
    /// Whether the machine kept out of it: neither the emulator nor the gateway was late.
    pub trusted: bool,
    /// Why not; each a sentence.
    pub because: Vec<String>,
}

/// What a session came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionFigures {
    /// Octets that both applications got, times eight, from the session's start to its end or the
    /// run's, in bits a second.
    pub goodput_bps: f64,
    /// Octets that both applications got.
    pub bytes: u64,
    /// Its pages, messages or files; `None` of a call or a video.
    pub transactions: Option<Transactions>,
    /// The directions of a call or a video; empty for all else.
    pub streams: Vec<StreamFigures>,
    /// RTCP packets that both sides of a call or a video sent.
    pub reports_sent: u64,
    /// RTCP packets that arrived.
    pub reports_received: u64,
}

/// Pages, messages or files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Transactions {
    /// Those that are complete.
    pub completed: u64,
    /// Those whose connections failed.
    pub failed: u64,
    /// Those that the run's end cut off.
    pub under_way: u64,
    /// Mean time from the first SYN or request to the last octet, in seconds; `None` if none is
    /// complete.
    pub time_mean_s: Option<f64>,
    /// The median of these times, within 0.4%.
    pub time_median_s: Option<f64>,
    /// Their 95th percentile, within 0.4%.
    pub time_p95_s: Option<f64>,
    /// Octets that both applications wrote.
    pub offered_bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Segments that both hosts' TCP sent again.
    pub retransmits: u64,
}

/// One direction of a call or a video.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamFigures {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived, each counted once.
    pub received: u64,
    /// Packets that did not arrive and are not on their way.
    pub lost: u64,
    /// Packets that arrived too late to be played.
    pub late: u64,
    /// Lost packets in per cent of those that are not on their way any more.
    pub lost_percent: f64,
    /// Late packets in per cent of the same.
    pub late_percent: f64,
    /// Mean one-way delay in the network, in seconds; `None` if nothing arrived, as all below.
    pub delay_mean_s: Option<f64>,
    /// The variance of the one-way delays, in seconds squared.
    pub delay_variance_s2: Option<f64>,
    /// Their 95th percentile, in seconds.
    pub delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end, in seconds (RFC 3550, section 6.4.1).
    pub jitter_s: Option<f64>,
    /// From mouth to ear, in seconds; `None` unless it is speech.
    pub mouth_to_ear_s: Option<f64>,
    /// The rating R of the E-model (ITU-T G.107), 0 to 93.2.
    pub rating: Option<f64>,
    /// The mean opinion score, 1 to 4.5.
    pub mos: Option<f64>,
}

impl SessionFigures {
    /// What a session came to, wherever it ran.
    pub(super) fn of(scenario: &Scenario, session: &SessionModel, outcome: &SessionOutcome) -> Self {
        let ends = [session.client, session.server].map(|node| &scenario.nodes[node].name);
        let (transactions, call) = match &outcome.result {
            SessionResult::Dialogue(dialogue) => (Some(Transactions::of(dialogue)), None),
            SessionResult::Call(call) => (None, Some(call)),
        };
        let streams = call.iter().flat_map(|call| &call.streams).map(|(side, stream)| {
            StreamFigures::of([ends[*side], ends[1 - *side]].map(Clone::clone), stream)
        });
        Self {
            goodput_bps: outcome.goodput_bps,
            bytes: outcome.octets,
            transactions,
            streams: streams.collect(),
            reports_sent: call.map_or(0, |call| call.reports_sent),
            reports_received: call.map_or(0, |call| call.reports_received),
        }
    }
}

impl Transactions {
    fn of(dialogue: &DialogueOutcome) -> Self {
        let DialogueOutcome { times, failed, under_way, offered, connections, retransmits, .. } = dialogue;
        Self {
            completed: times.count(),
            failed: *failed,
            under_way: *under_way,
            time_mean_s: times.mean_s(),
            time_median_s: times.quantile_s(0.5),
            time_p95_s: times.quantile_s(0.95),
            offered_bytes: *offered,
            connections: *connections,
            retransmits: *retransmits,
        }
    }
}

impl StreamFigures {
    fn of([from, to]: [String; 2], stream: &StreamOutcome) -> Self {
        let UdpOutcome { sent, received, lost, delay, .. } = stream.packets;
        Self {
            from,
            to,
            sent,
            received,
            lost,
            late: stream.late,
            lost_percent: stream.packets.percent(lost),
            late_percent: stream.packets.percent(stream.late),
            delay_mean_s: delay.map(|delay| delay.mean_s),
            delay_variance_s2: delay.map(|delay| delay.variance_s2),
            delay_p95_s: delay.map(|delay| delay.p95_s),
            jitter_s: delay.map(|delay| delay.jitter_s),
            mouth_to_ear_s: stream.quality.map(|quality| quality.mouth_to_ear_s),
            rating: stream.quality.map(|quality| quality.rating),
            mos: stream.quality.map(|quality| quality.mos),
        }
    }
}
