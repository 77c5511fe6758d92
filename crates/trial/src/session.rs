//! The results of a session of a trial, between real hosts and in the simulator: the same figures,
//! from the same accounting.

use lasthop_scenario::session_figures::{StreamFigures, Transactions};
use lasthop_scenario::{Scenario, SessionModel};
use lasthop_sim::{SessionOutcome, SessionResult};
use serde::{Deserialize, Serialize};

use super::stations::StationUse;
use lasthop_gateway::packet_loop::LoopReport;

/// The results of one run for one of its sessions.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRun {
    /// The session.
    pub session: String,
    /// "voice", "web", "mail", "ftp" or "video".
    pub kind: &'static str,
    /// The congestion control of both hosts; `None` for a call or a video.
    pub congestion: Option<String>,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links and of the session.
    pub seed: u64,
    /// The hosts' kernel, if they had one of their own, in simulated time: its version; if the user has given its path, the name of its folder in a cache, or the path.
    pub kernel: Option<String>,
    /// The flows of the run.
    pub beside: Vec<String>,
    /// The congestion control of each flow and session of the run that goes over TCP.
    pub controls: Vec<String>,
    /// Between real hosts.
    pub real: SessionFigures,
    /// In the simulator, with the same seed; `None` for a congestion control that the simulator
    /// does not have.
    pub predicted: Option<SessionFigures>,
    /// Whether every octet arrived as it was sent.
    pub intact: bool,
    /// Report of the gateway's packet loop, as `report` in `lasthop gateway status --json`; `None`
    /// without a gateway, or with several.
    pub gateway: Option<LoopReport>,
    /// One entry for each station of each 802.11 cell.
    pub stations: Vec<StationUse>,
    /// Summary of the emulator.
    pub emulator: lasthop_emulator::Summary,
    /// Whether emulator, gateway and hosts were on time.
    pub trusted: bool,
    /// Why the run is not trusted, each reason a sentence.
    pub because: Vec<String>,
}

/// The figures of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Goodput of both directions together in bits per second, from the session's start to its end
    /// or the end of the run.
    pub goodput_bps: f64,
    /// Octets delivered to both applications.
    pub bytes: u64,
    /// Its pages, messages or files; `None` for a call or a video.
    pub transactions: Option<Transactions>,
    /// The directions of a call or a video; empty for other kinds.
    pub streams: Vec<StreamFigures>,
    /// RTCP packets that the two sides of a call or a video sent.
    pub reports_sent: u64,
    /// RTCP packets that arrived.
    pub reports_received: u64,
}

/// The result of a session between real hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionMeasured {
    pub(super) figures: SessionFigures,
    /// Whether every octet arrived as it was sent.
    pub(super) intact: bool,
}

impl SessionFigures {
    /// The figures of a session, real or simulated.
    pub(super) fn new(scenario: &Scenario, session: &SessionModel, outcome: &SessionOutcome) -> Self {
        let ends = [session.client, session.server].map(|node| &scenario.nodes[node].name);
        let (transactions, call) = match &outcome.result {
            SessionResult::Dialogue(dialogue) => (Some(Transactions::from_dialogues([dialogue])), None),
            SessionResult::Call(call) => (None, Some(call)),
        };
        let streams = call
            .iter()
            .flat_map(|call| &call.streams)
            .map(|(side, stream)| StreamFigures::new(ends[*side], ends[1 - *side], stream));
        Self {
            goodput_bps: outcome.goodput_bps(),
            bytes: outcome.octets,
            transactions,
            streams: streams.collect(),
            reports_sent: call.map_or(0, |call| call.reports_sent),
            reports_received: call.map_or(0, |call| call.reports_received),
        }
    }
}
