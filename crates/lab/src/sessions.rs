//! The results of a run's sessions: each session, and all of a kind together.

mod estimates;

pub use lasthop_scenario::session_figures::{Packets, StreamFigures, Transactions};
use lasthop_scenario::{Scenario, SessionModel};
use lasthop_sim::{DialogueOutcome, SessionOutcome, SessionResult, StreamOutcome};
use serde::{Deserialize, Serialize};

use crate::stats::rate_bps;
pub use estimates::{DialogueEstimates, SessionEstimates, StreamEstimates};

/// What came of one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The session's name.
    #[serde(rename = "session")]
    pub name: String,
    /// The scheme's label.
    pub scheme: String,
    /// "voice", "web", "mail", "ftp" or "video".
    pub kind: String,
    /// The client's node; for a call, that of one party.
    pub client: String,
    /// The server's node; for a call, that of the other party.
    pub server: String,
    /// Goodput of both directions together in bits per second, from the session's start to its end
    /// or the end of the run.
    pub goodput_bps: f64,
    /// Octets delivered to both applications.
    pub bytes: u64,
    /// Its pages, messages or files; null for a call or a video.
    pub transactions: Option<DialogueSummary>,
    /// The directions of a call or a video; empty for other kinds.
    pub streams: Vec<StreamFigures>,
}

/// What came of a dialogue, or of all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DialogueSummary {
    /// Its pages, messages or files.
    #[serde(flatten)]
    pub transactions: Transactions,
    /// Expiries of the retransmission timers of both hosts.
    pub timeouts: u64,
    /// Fast retransmits of both hosts.
    pub fast_retransmits: u64,
}

/// All sessions, by kind; null for a kind that there is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogueTotals {
    /// Number of these sessions.
    pub sessions: usize,
    /// Goodput of these sessions together, in bits per second: their octets over the time from the
    /// start of the first to the end of the last.
    pub goodput_bps: f64,
    /// The totals over these sessions.
    #[serde(flatten)]
    pub summary: DialogueSummary,
}

/// All calls, or all videos.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Number of these sessions.
    pub sessions: usize,
    /// Goodput of these sessions together, in bits per second: their octets over the time from the
    /// start of the first to the end of the last.
    pub goodput_bps: f64,
    /// The totals over all their streams.
    #[serde(flatten)]
    pub packets: Packets,
    /// Mean opinion score over all directions of calls; null for videos, and if no direction has a
    /// score.
    pub mos: Option<f64>,
    /// Lowest opinion score of a direction; null likewise.
    pub mos_worst: Option<f64>,
}

/// The summaries of a run's sessions, and their totals.
pub(crate) fn summarize(
    scenario: &Scenario,
    scheme: &str,
    outcomes: &[SessionOutcome],
) -> (Vec<SessionSummary>, Option<SessionTotals>) {
    let outcomes: Vec<(&SessionModel, &SessionOutcome)> = scenario.sessions.iter().zip(outcomes).collect();
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
    // A wrong octet is an error of the simulator: no number could be trusted.
    assert!(outcome.intact, "session {:?}: what arrived is not what was sent", outcome.name);
    let [client, server] = [model.client, model.server].map(|node| scenario.nodes[node].name.clone());
    let streams = match &outcome.result {
        SessionResult::Call(call) => &call.streams[..],
        SessionResult::Dialogue(_) => &[],
    };
    let ends = [&client, &server];
    let streams =
        streams.iter().map(|(side, stream)| StreamFigures::new(ends[*side], ends[1 - *side], stream));
    let streams: Vec<StreamFigures> = streams.collect();
    let transactions = match &outcome.result {
        SessionResult::Call(_) => None,
        SessionResult::Dialogue(dialogue) => Some(DialogueSummary::from_dialogues(&[dialogue])),
    };
    SessionSummary {
        name: model.name.clone(),
        scheme: scheme.to_owned(),
        kind: model.activity.kind().to_owned(),
        streams,
        client,
        server,
        goodput_bps: outcome.goodput_bps(),
        bytes: outcome.octets,
        transactions,
    }
}

/// The sessions of this kind; `None` without any.
fn of_kind<'a>(
    outcomes: &[(&SessionModel, &'a SessionOutcome)],
    kind: &str,
) -> Option<Vec<&'a SessionOutcome>> {
    let chosen = outcomes.iter().filter(|(model, _)| model.activity.kind() == kind);
    let chosen: Vec<&SessionOutcome> = chosen.map(|(_, outcome)| *outcome).collect();
    (!chosen.is_empty()).then_some(chosen)
}

fn goodput_bps(outcomes: &[&SessionOutcome]) -> f64 {
    rate_bps(outcomes.iter().map(|outcome| (outcome.octets, outcome.measured)))
}

fn dialogues(outcomes: &[(&SessionModel, &SessionOutcome)], kind: &str) -> Option<DialogueTotals> {
    let chosen = of_kind(outcomes, kind)?;
    let dialogues = chosen.iter().filter_map(|outcome| match &outcome.result {
        SessionResult::Dialogue(dialogue) => Some(dialogue),
        SessionResult::Call(_) => None,
    });
    Some(DialogueTotals {
        sessions: chosen.len(),
        goodput_bps: goodput_bps(&chosen),
        summary: DialogueSummary::from_dialogues(&dialogues.collect::<Vec<_>>()),
    })
}

fn streams(outcomes: &[(&SessionModel, &SessionOutcome)], kind: &str) -> Option<StreamTotals> {
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
        packets: Packets::from_streams(streams.iter().copied()),
        mos: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        mos_worst: scores.iter().copied().reduce(f64::min),
    })
}

impl DialogueSummary {
    /// The summary of several dialogues as of one.
    fn from_dialogues(dialogues: &[&DialogueOutcome]) -> Self {
        Self {
            transactions: Transactions::from_dialogues(dialogues.iter().copied()),
            timeouts: dialogues.iter().map(|dialogue| dialogue.timeouts).sum(),
            fast_retransmits: dialogues.iter().map(|dialogue| dialogue.fast_retransmits).sum(),
        }
    }
}
