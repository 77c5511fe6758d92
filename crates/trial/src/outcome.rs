//! The results of a run: those of its flows and sessions, the simulator's prediction for them, and
//! the reports of emulator and gateway.

use std::time::Duration;

use lasthop_agent::Counter;
use lasthop_agent::counter::{ACKS_GENERATED, ACKS_SUPPRESSED};
use lasthop_scenario::Scenario;
use serde::Serialize;

use super::flows::RunResults;
use super::gateways::Reports;
use super::model::ModelResults;
use super::parts::HostResults;
use super::plan::{Case, CaseFlow};
use super::prediction::{Predicted, Prediction, share_of};
use super::roaming::RoamingRun;
use super::sample::Sample;
use super::session::SessionRun;
use super::stations::{StationUse, awake_share};
use super::verdict;
use lasthop_gateway::packet_loop::LoopReport;

/// The results of one run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// For each of its flows, in order.
    pub flows: Vec<Outcome>,
    /// For each of its sessions, in order.
    pub sessions: Vec<SessionRun>,
    /// For its clients, if they roam.
    pub roaming: Option<RoamingRun>,
}

/// The results of one run for one of its flows.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The flow.
    pub flow: String,
    /// The sender's congestion control.
    pub congestion: String,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links.
    pub seed: u64,
    /// The hosts' kernel, if they had one of their own, in simulated time: its version; if the user has given its path, the name of its folder in a cache, or the path.
    pub kernel: Option<String>,
    /// The flows of the run.
    pub beside: Vec<String>,
    /// Goodput in bits per second. For a flow without a size it is measured after the settling
    /// time; for a flow with a size, from the moment when the sender could send, after the handshake,
    /// to the last octet.
    pub goodput_bps: f64,
    /// Goodput in the simulator, in bits per second, with the same seed; `None` for a congestion
    /// control that the simulator does not have.
    pub predicted_goodput_bps: Option<f64>,
    /// Share of the goodput of all flows in the run.
    #[serde(rename = "goodput_share")]
    pub share: f64,
    /// `goodput_share` in the simulator.
    #[serde(rename = "predicted_goodput_share")]
    pub predicted_share: Option<f64>,
    /// Share of the run for which the flow's host was awake; `None` if it is not in power-save
    /// mode.
    pub awake_share: Option<f64>,
    /// `awake_share` in the simulator.
    pub predicted_awake_share: Option<f64>,
    /// Octets that the receiver received.
    pub octets: u64,
    /// Seconds from the flow's start, handshake included, to its last octet; `None` for a flow that has
    /// no size or did not complete.
    pub completion_s: Option<f64>,
    /// Seconds from the flow's start to the last octet that arrived, whether or not it was the last of all; `None` without any.
    pub last_octet_s: Option<f64>,
    /// Segments that the sender's TCP retransmitted.
    pub retransmits: u64,
    /// What became of what the gateway owed when it was killed; `None` if it was not.
    pub crash: Option<Crash>,
    /// Median round-trip time of the latency probe, in milliseconds; `None` if no packet came back.
    /// The probe sends small packets over the path of the run's first flow during the transfer.
    pub latency_median_ms: Option<f64>,
    /// 95th percentile of that round-trip time, in milliseconds; `None` likewise.
    pub latency_p95_ms: Option<f64>,
    /// Processor time of the packet loops of all gateways, as a share of one core; `None` without a
    /// gateway.
    pub gateway_cores: Option<f64>,
    /// Report of the gateway's packet loop, as `report` in `lasthop gateway status --json`; `None`
    /// without a gateway, or with several.
    pub gateway: Option<LoopReport>,
    /// Whether every octet arrived as it was sent.
    pub intact: bool,
    /// Whether the connection ended before its time, for example because it was reset.
    pub lost: bool,
    /// One entry for each station of each 802.11 cell.
    pub stations: Vec<StationUse>,
    /// ACKs that agents of clients generated on behalf of receivers; those of the gateway are in
    /// `gateway`.
    pub acks_generated: u64,
    /// ACKs that agents of clients kept off the air; those of the gateway are in `gateway`.
    pub acks_suppressed: u64,
    /// Summary of the emulator.
    pub emulator: lasthop_emulator::Summary,
    /// Whether emulator, gateway and hosts were on time.
    pub trusted: bool,
    /// Why the run is not trusted, each reason a sentence.
    pub because: Vec<String>,
    /// The sender over time, if asked for.
    #[serde(skip)]
    pub series: Vec<Sample>,
    /// The simulator's sender over time, if asked for and it has the congestion control.
    #[serde(skip)]
    pub predicted_series: Vec<Sample>,
}

/// What a gateway owed when it was killed, and what that led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Octets that it had acknowledged and that were not known to be delivered, of all connections.
    pub owed_octets: u64,
    /// Octets of the flow that were acknowledged to the sender, and that the receiver had not received at the end.
    pub undelivered_octets: u64,
}

/// Facts that are the same for all flows and sessions of a run.
struct Circumstances {
    kernel: Option<String>,
    gateway_cores: Option<f64>,
    gateways: Reports,
    model: ModelResults,
    because: Vec<String>,
}

impl Circumstances {
    /// The report of the only gateway at an edge.
    fn gateway(&self) -> Option<LoopReport> {
        match &self.gateways.at_edges[..] {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// Octets at risk at the gateway at the edge, as last reported; `None` without one.
    fn owed(&self) -> Option<u64> {
        self.gateways
            .at_edges
            .iter()
            .map(|report| report.engine.octets_at_risk)
            .reduce(|one, more| one + more)
    }

    /// The sum of a counter of clients' agents.
    fn of_clients(&self, counter: &'static Counter) -> u64 {
        let of_gateway = |report: &LoopReport| report.engine.agents.of(counter);
        self.model.reported.get(counter) + self.gateways.of_clients.iter().map(of_gateway).sum::<u64>()
    }
}

impl RunOutcome {
    pub(super) fn new(
        scenario: &Scenario,
        (case, kernel): (&Case, Option<&str>),
        hosts: HostResults,
        model: ModelResults,
        predicted: Option<&Prediction>,
    ) -> Self {
        let HostResults { run: results, gateways, gateway_cores, hand_offs } = hosts;
        let mut because =
            verdict::reasons(&model.summary, gateways.all(), &results.round_trips, results.kept_waiting);
        because
            .extend(model.silent.iter().map(|flow| format!("the simulated flow {flow:?} delivered nothing")));
        // In simulated time programs take no time.
        let gateway_cores = gateway_cores.filter(|_| kernel.is_none());
        let kernel = kernel.map(str::to_owned);
        let circumstances = &Circumstances { kernel, gateway_cores, gateways, model, because };
        let (of_flows, of_sessions) = match predicted {
            Some(Prediction { flows, sessions, .. }) => (&flows[..], &sessions[..]),
            None => (&[][..], &[][..]),
        };
        let sessions = case.sessions.iter().zip(&results.sessions).enumerate();
        let sessions = sessions.map(|(place, (of_case, measured))| SessionRun {
            session: of_case.name.clone(),
            kind: of_case.kind,
            congestion: of_case.congestion.clone(),
            scheme: case.scheme.clone(),
            seed: case.seed,
            kernel: circumstances.kernel.clone(),
            beside: case.flows.iter().map(|flow| flow.name.clone()).collect(),
            controls: case.congestion().cloned().collect(),
            real: measured.figures.clone(),
            predicted: of_sessions.get(place).cloned(),
            intact: measured.intact,
            gateway: circumstances.gateway(),
            emulator: circumstances.model.summary.clone(),
            stations: circumstances.model.stations.clone(),
            trusted: circumstances.because.is_empty(),
            because: circumstances.because.clone(),
        });
        let sessions: Vec<SessionRun> = sessions.collect();
        let flows = flows(scenario, case, results, of_flows, circumstances);
        let corrupted =
            flows.iter().map(|flow| flow.intact).chain(sessions.iter().map(|session| session.intact));
        let corrupted = corrupted.filter(|intact| !intact).count() as u64;
        let roaming = circumstances.model.hand_offs.clone().or(hand_offs).map(|hand_offs| RoamingRun {
            flows: case.flows.iter().map(|flow| flow.name.clone()).collect(),
            controls: case.congestion().cloned().collect(),
            scheme: case.scheme.clone(),
            seed: case.seed,
            hand_offs,
            predicted_hand_offs: predicted.map(|predicted| predicted.hand_offs.clone()),
            connections_lost: flows.iter().filter(|flow| flow.lost).count() as u64,
            corrupted,
            gateways: circumstances.gateways.at_edges.clone(),
        });
        Self { flows, sessions, roaming }
    }
}

fn flows(
    scenario: &Scenario,
    case: &Case,
    results: RunResults,
    predicted: &[Predicted],
    circumstances: &Circumstances,
) -> Vec<Outcome> {
    let RunResults { flows, round_trips, .. } = results;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let owed = scenario.trial.gateway_crash.and_then(|_| circumstances.owed());
    let mut predicted = predicted.iter();
    let flows = case.flows.iter().zip(flows).map(|(flow, transferred)| {
        let predicted = predicted.next();
        Outcome {
            flow: flow.name.clone(),
            congestion: flow.congestion.clone(),
            scheme: case.scheme.clone(),
            seed: case.seed,
            kernel: circumstances.kernel.clone(),
            beside: others(case, flow),
            goodput_bps: transferred.goodput_bps,
            predicted_goodput_bps: predicted.map(|flow| flow.goodput_bps),
            share: share_of(transferred.goodput_bps, &goodputs),
            predicted_share: predicted.map(|flow| flow.share),
            awake_share: awake_share(scenario, &scenario.flows[flow.index], &circumstances.model.stations),
            predicted_awake_share: predicted.and_then(|flow| flow.awake_share),
            octets: transferred.octets,
            completion_s: transferred.completion.map(|time| time.as_secs_f64()),
            last_octet_s: transferred.last.map(|time| time.as_secs_f64()),
            retransmits: transferred.retransmits,
            crash: owed.map(|owed_octets| Crash { owed_octets, undelivered_octets: transferred.undelivered }),
            latency_median_ms: round_trips.quantile(0.5).map(millis),
            latency_p95_ms: round_trips.quantile(0.95).map(millis),
            gateway_cores: circumstances.gateway_cores,
            gateway: circumstances.gateway(),
            intact: transferred.intact,
            lost: transferred.lost,
            stations: circumstances.model.stations.clone(),
            acks_generated: circumstances.of_clients(&ACKS_GENERATED),
            acks_suppressed: circumstances.of_clients(&ACKS_SUPPRESSED),
            emulator: circumstances.model.summary.clone(),
            trusted: circumstances.because.is_empty(),
            because: circumstances.because.clone(),
            series: transferred.series,
            predicted_series: predicted.map(|flow| flow.series.clone()).unwrap_or_default(),
        }
    });
    flows.collect()
}

fn others(case: &Case, flow: &CaseFlow) -> Vec<String> {
    case.flows.iter().filter(|other| *other != flow).map(|other| other.name.clone()).collect()
}
