//! What came of a run's sessions: each of them, and all of a kind together.

mod estimates;

use lasthop_scenario::{Built, Scenario, SessionModel};
use lasthop_sim::{DialogueOutcome, Durations, SessionOutcome, SessionResult, StreamOutcome, UdpOutcome};
use serde::Serialize;

pub use estimates::{DialogueEstimates, SessionEstimates, StreamEstimates};

/// What came of one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionSummary {
    /// The session's name.
    pub name: String,
    /// The scheme's label.
    pub scheme: String,
    /// "voice", "web", "mail", "ftp" or "video".
    pub kind: &'static str,
    /// The client's node, or that of one party of a call.
    pub client: String,
    /// The server's node, or that of the other party.
    pub server: String,
    /// Goodput in bits a second: octets that both applications got, from the session's start to its
    /// end or the run's.
    pub goodput_bps: f64,
    /// Octets that both applications got.
    pub bytes: u64,
    /// Its pages, messages or files; null for a call or a video.
    pub transactions: Option<Transactions>,
    /// The directions of a call or a video; empty for all else.
    pub streams: Vec<StreamSummary>,
}

/// Pages, messages or files: of one session, or of all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Transactions {
    /// Those that are complete.
    pub completed: u64,
    /// Those whose connections failed.
    pub failed: u64,
    /// Those that the run's end cut off.
    pub under_way: u64,
    /// Mean time from the first SYN or request to the last octet, in seconds; null if none is
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
    /// Expiries of their retransmission timers.
    pub timeouts: u64,
    /// Their fast retransmits.
    pub fast_retransmits: u64,
}

/// One direction of a call or a video.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamSummary {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// What became of its packets.
    #[serde(flatten)]
    pub packets: Packets,
    /// From mouth to ear, in seconds; null unless it is speech that arrived.
    pub mouth_to_ear_s: Option<f64>,
    /// The rating R of the E-model (ITU-T G.107), 0 to 93.2.
    pub rating: Option<f64>,
    /// The mean opinion score, 1 to 4.5.
    pub mos: Option<f64>,
}

/// What became of packets of streams: of one, or of all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Packets {
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
    /// Mean one-way delay in the network, in seconds; null if nothing arrived.
    pub delay_mean_s: Option<f64>,
    /// The variance of the one-way delays, in seconds squared.
    pub delay_variance_s2: Option<f64>,
    /// Their 95th percentile, in seconds.
    pub delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end, in seconds (RFC 3550, section 6.4.1); of several streams the
    /// mean of theirs.
    pub jitter_s: Option<f64>,
}

/// All sessions, by kind; null for a kind that there is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionTotals {
    /// Pages.
    pub web: Option<DialogueTotals>,
    /// Messages.
    pub mail: Option<DialogueTotals>,
    /// Files.
    pub ftp: Option<DialogueTotals>,
    /// Calls.
    pub voice: Option<StreamTotals>,
    /// Videos.
    pub video: Option<StreamTotals>,
}

/// All sessions of a kind that has transactions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DialogueTotals {
    /// How many there are.
    pub sessions: usize,
    /// Sum of their goodputs, in bits a second.
    pub goodput_bps: f64,
    /// Their transactions, as if they were those of one session.
    #[serde(flatten)]
    pub transactions: Transactions,
}

/// All calls, or all videos.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StreamTotals {
    /// How many there are.
    pub sessions: usize,
    /// Sum of their goodputs, in bits a second.
    pub goodput_bps: f64,
    /// The packets of all their streams, as if they were those of one.
    #[serde(flatten)]
    pub packets: Packets,
    /// The mean of the opinion scores of calls' directions; null without one that was heard.
    pub mos: Option<f64>,
    /// The worst of them.
    pub mos_worst: Option<f64>,
}

/// What came of a run's sessions.
pub(crate) fn summarize(
    scenario: &Scenario,
    scheme: &str,
    built: &Built,
) -> (Vec<SessionSummary>, Option<SessionTotals>) {
    let outcomes: Vec<(&SessionModel, SessionOutcome)> = scenario
        .sessions
        .iter()
        .zip(&built.sessions)
        .map(|(model, id)| (model, built.world.session_outcome(*id)))
        .collect();
    let summaries = outcomes.iter().map(|(model, outcome)| summary(scenario, scheme, model, outcome));
    let totals = (!outcomes.is_empty()).then(|| SessionTotals {
        web: dialogues(&outcomes, "web"),
        mail: dialogues(&outcomes, "mail"),
        ftp: dialogues(&outcomes, "ftp"),
        voice: streams(&outcomes, "voice"),
        video: streams(&outcomes, "video"),
    });
    (summaries.collect(), totals)
}

fn summary(
    scenario: &Scenario,
    scheme: &str,
    model: &SessionModel,
    outcome: &SessionOutcome,
) -> SessionSummary {
    // A wrong octet would be a broken simulator, and every number with it.
    assert!(outcome.intact, "session {:?}: what arrived is not what was sent", outcome.name);
    let [client, server] = [model.client, model.server].map(|node| scenario.nodes[node].name.clone());
    let streams = match &outcome.result {
        SessionResult::Call(call) => &call.streams[..],
        SessionResult::Dialogue(_) => &[],
    };
    let streams = streams.iter().map(|(side, stream)| {
        let ends = [client.clone(), server.clone()];
        let quality = stream.quality;
        StreamSummary {
            from: ends[*side].clone(),
            to: ends[1 - *side].clone(),
            packets: Packets::of([stream]),
            mouth_to_ear_s: quality.map(|quality| quality.mouth_to_ear_s),
            rating: quality.map(|quality| quality.rating),
            mos: quality.map(|quality| quality.mos),
        }
    });
    let transactions = match &outcome.result {
        SessionResult::Call(_) => None,
        SessionResult::Dialogue(dialogue) => Some(Transactions::of([dialogue])),
    };
    SessionSummary {
        name: model.name.clone(),
        scheme: scheme.to_owned(),
        kind: model.activity.kind(),
        streams: streams.collect(),
        client,
        server,
        goodput_bps: outcome.goodput_bps,
        bytes: outcome.octets,
        transactions,
    }
}

/// All sessions of this kind; `None` without any.
fn of_kind<'a>(
    outcomes: &'a [(&SessionModel, SessionOutcome)],
    kind: &str,
) -> Option<Vec<&'a SessionOutcome>> {
    let chosen = outcomes.iter().filter(|(model, _)| model.activity.kind() == kind);
    let chosen: Vec<&SessionOutcome> = chosen.map(|(_, outcome)| outcome).collect();
    (!chosen.is_empty()).then_some(chosen)
}

fn goodput_bps(outcomes: &[&SessionOutcome]) -> f64 {
    outcomes.iter().map(|outcome| outcome.goodput_bps).sum()
}

fn dialogues(outcomes: &[(&SessionModel, SessionOutcome)], kind: &str) -> Option<DialogueTotals> {
    let chosen = of_kind(outcomes, kind)?;
    let dialogues = chosen.iter().filter_map(|outcome| match &outcome.result {
        SessionResult::Dialogue(dialogue) => Some(dialogue),
        SessionResult::Call(_) => None,
    });
    Some(DialogueTotals {
        sessions: chosen.len(),
        goodput_bps: goodput_bps(&chosen),
        transactions: Transactions::of(dialogues),
    })
}

fn streams(outcomes: &[(&SessionModel, SessionOutcome)], kind: &str) -> Option<StreamTotals> {
    let chosen = of_kind(outcomes, kind)?;
    let calls = chosen.iter().filter_map(|outcome| match &outcome.result {
        SessionResult::Call(call) => Some(call),
        SessionResult::Dialogue(_) => None,
    });
    let streams: Vec<&StreamOutcome> =
        calls.flat_map(|call| &call.streams).map(|(_, stream)| stream).collect();
    let scores: Vec<f64> =
        streams.iter().filter_map(|stream| stream.quality).map(|quality| quality.mos).collect();
    Some(StreamTotals {
        sessions: chosen.len(),
        goodput_bps: goodput_bps(&chosen),
        packets: Packets::of(streams.iter().copied()),
        mos: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        mos_worst: scores.iter().copied().reduce(f64::min),
    })
}

impl Transactions {
    /// Those of one dialogue or several, as if they were one's.
    fn of<'a>(dialogues: impl IntoIterator<Item = &'a DialogueOutcome>) -> Self {
        let mut times = Durations::default();
        let mut all = Self::default();
        for dialogue in dialogues {
            times.merge(&dialogue.times);
            all.failed += dialogue.failed;
            all.under_way += dialogue.under_way;
            all.offered_bytes += dialogue.offered;
            all.connections += dialogue.connections;
            all.retransmits += dialogue.retransmits;
            all.timeouts += dialogue.timeouts;
            all.fast_retransmits += dialogue.fast_retransmits;
        }
        Self {
            completed: times.count(),
            time_mean_s: times.mean_s(),
            time_median_s: times.quantile_s(0.5),
            time_p95_s: times.quantile_s(0.95),
            ..all
        }
    }
}

impl Packets {
    /// Those of one stream or several, as if they were one's.
    fn of<'a>(streams: impl IntoIterator<Item = &'a StreamOutcome>) -> Self {
        let mut delays = Durations::default();
        let mut all = Self::default();
        let (mut jitter, mut heard) = (0.0, 0.0);
        for stream in streams {
            let UdpOutcome { sent, received, lost, delay, .. } = stream.packets;
            delays.merge(&stream.delays);
            all.sent += sent;
            all.received += received;
            all.lost += lost;
            all.late += stream.late;
            if let Some(delay) = delay {
                (jitter, heard) = (jitter + delay.jitter_s, heard + 1.0);
            }
        }
        let decided = (all.received + all.lost).max(1) as f64;
        Self {
            lost_percent: all.lost as f64 / decided * 100.0,
            late_percent: all.late as f64 / decided * 100.0,
            delay_mean_s: delays.mean_s(),
            delay_variance_s2: delays.variance_s2(),
            delay_p95_s: delays.quantile_s(0.95),
            jitter_s: (heard > 0.0).then(|| jitter / heard),
            ..all
        }
    }
}
