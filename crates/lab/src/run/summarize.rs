//! The summary of a world whose run is over.

use std::collections::BTreeSet;

use lasthop_packet::Instant;
use lasthop_scenario::{Built, Scenario, SchemeChoice, WlanModel};
use lasthop_sim::{FlowOutcome, Measured, SessionOutcome, SessionResult};

use super::counters::counters;
use super::roaming::RoamingSummary;
use super::summary::{Aggregate, Datagrams, FlowSummary, RunSummary, StationSummary};
use crate::agents::AgentLoad;
use crate::sessions::{self, SessionSummary, SessionTotals};
use crate::stats::{jain_fairness, rate_bps};

/// Seconds until a flow's sender was reset (`by_reset`), or gave up for another reason.
fn ended(outcome: &FlowOutcome, by_reset: bool) -> Option<f64> {
    outcome.gave_up.filter(|_| outcome.was_reset == by_reset).map(|at| at.as_secs_f64())
}

pub(super) fn summarize(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    built: &Built,
    agents: AgentLoad,
) -> RunSummary {
    let world = &built.world;
    let outcomes: Vec<FlowOutcome> = built.flows.iter().map(|id| world.outcome(*id)).collect();
    let flows: Vec<FlowSummary> = outcomes
        .iter()
        .zip(&scenario.flows)
        .map(|(outcome, model)| {
            // A wrong octet is an error of the simulator: no number could be trusted.
            assert!(
                outcome.intact,
                "flow {:?}: the stream that arrived is not the stream that was sent",
                outcome.name
            );
            let tcp = outcome.tcp();
            FlowSummary {
                name: outcome.name.clone(),
                scheme: scheme.label.clone(),
                from: scenario.nodes[model.from].name.clone(),
                to: scenario.nodes[model.to].name.clone(),
                goodput_bps: outcome.goodput_bps(),
                bytes: outcome.octets,
                transport: if outcome.udp().is_some() { "udp" } else { "tcp" }.to_owned(),
                completion_s: outcome.completion.map(|completion| completion.as_secs_f64()),
                gave_up_s: ended(outcome, false),
                reset_s: ended(outcome, true),
                retransmits: tcp.map(|tcp| tcp.sender.retransmits),
                timeouts: tcp.map(|tcp| tcp.sender.timeouts),
                fast_retransmits: tcp.map(|tcp| tcp.sender.fast_retransmits),
                duplicate_acks: tcp.map(|tcp| tcp.sender.duplicate_acks),
                rtt_mean_s: tcp.and_then(|tcp| tcp.rtt_mean_s),
                datagrams: outcome.udp().map(Datagrams::from_outcome),
            }
        })
        .collect();
    let session_outcomes: Vec<SessionOutcome> =
        built.sessions.iter().map(|id| world.session_outcome(*id)).collect();
    let (sessions, of_sessions) = sessions::summarize(scenario, &scheme.label, &session_outcomes);
    let stations = stations(scenario, built);
    let roams = scenario.wlans.iter().any(|wlan| wlan.roaming.is_some());
    let roaming = roams.then(|| RoamingSummary::new(built, Instant::ZERO + scenario.warm_up));
    let goodputs = goodputs(&outcomes, &session_outcomes);
    let aggregate = aggregate(scenario, &flows, &goodputs, (&sessions, of_sessions), &stations);
    RunSummary {
        scenario: scenario.name.clone(),
        scheme: scheme.label.clone(),
        seed,
        duration_s: world.now().as_secs_f64(),
        warm_up_s: scenario.warm_up.as_secs_f64(),
        flows,
        sessions,
        stations,
        roaming,
        aggregate,
        agents,
        counters: counters(built),
    }
}

fn stations(scenario: &Scenario, built: &Built) -> Vec<StationSummary> {
    let world = &built.world;
    let seconds = world.now().as_secs_f64() - scenario.warm_up.as_secs_f64();
    let cells = scenario.wlans.iter().zip(&built.wlans);
    let stations = cells.flat_map(|(model, cell)| {
        let stations = model.stations.iter().zip(&cell.stations);
        stations.map(|(station, id)| (model.name.clone(), station.node, world.radio_use(cell.wlan, *id)))
    });
    stations
        .map(|(wlan, node, used)| {
            let share = |spent: f64| if seconds > 0.0 { spent / seconds } else { 0.0 };
            let air_time_s = used.air_time.as_secs_f64();
            let awake_s = used.awake.map(|awake| awake.as_secs_f64());
            StationSummary {
                wlan,
                name: scenario.nodes[node].name.clone(),
                frames: used.frames,
                transmissions: used.transmissions,
                frames_given_up: used.given_up,
                air_time_s,
                air_time_share: share(air_time_s),
                air_time_to_s: used.air_time_to.as_secs_f64(),
                awake_s,
                awake_share: awake_s.map(share),
                access_mean_s: (used.frames > 0).then(|| used.access.as_secs_f64() / used.frames as f64),
            }
        })
        .collect()
}

/// The number of channels of all cells. Only access points among which clients roam have several.
fn channels(scenario: &Scenario) -> usize {
    let of_cell = |cell: &WlanModel| {
        let access_points = &cell.stations[..cell.access_points().count()];
        let channels: BTreeSet<_> = access_points.iter().filter_map(|it| it.config.channel).collect();
        channels.len().max(1)
    };
    scenario.wlans.iter().map(of_cell).sum()
}

/// The goodput of all flows and sessions together.
struct Goodputs {
    /// The goodput over TCP, or over UDP if nothing goes over TCP.
    bps: f64,
    /// Jain's fairness index of these goodputs.
    jain_fairness: Option<f64>,
    /// The goodput of the flows over UDP; `None` without any.
    udp_bps: Option<f64>,
}

fn goodputs(flows: &[FlowOutcome], sessions: &[SessionOutcome]) -> Goodputs {
    let of_flows = |over_udp: bool| {
        let chosen = flows.iter().filter(move |flow| flow.udp().is_some() == over_udp);
        chosen.map(|flow| (flow.octets, flow.measured))
    };
    let of_sessions = |over_udp: bool| {
        let chosen = sessions
            .iter()
            .filter(move |session| matches!(session.result, SessionResult::Call(_)) == over_udp);
        chosen.map(|session| (session.octets, session.measured))
    };
    let [over_tcp, over_udp] = [false, true].map(|over_udp| -> Vec<(u64, Measured)> {
        of_flows(over_udp).chain(of_sessions(over_udp)).collect()
    });
    // Datagrams beside TCP are background traffic, not part of its result.
    let headline = if over_tcp.is_empty() { over_udp } else { over_tcp };
    let each: Vec<f64> = headline.iter().map(|(octets, measured)| measured.rate_bps(*octets)).collect();
    Goodputs {
        bps: rate_bps(headline.into_iter()),
        jain_fairness: jain_fairness(&each),
        udp_bps: of_flows(true).next().map(|_| rate_bps(of_flows(true))),
    }
}

fn aggregate(
    scenario: &Scenario,
    flows: &[FlowSummary],
    goodputs: &Goodputs,
    (sessions, of_sessions): (&[SessionSummary], Option<SessionTotals>),
    stations: &[StationSummary],
) -> Aggregate {
    let dialogues = || sessions.iter().filter_map(|session| session.transactions.as_ref());
    let with_end = || {
        let flows = scenario.flows.iter().zip(flows);
        flows.filter(|(model, _)| model.can_complete())
    };
    let ends: Option<Vec<f64>> = with_end()
        .map(|(model, flow)| flow.completion_s.map(|completion| model.start.as_secs_f64() + completion))
        .collect();
    let first_start = with_end().map(|(model, _)| model.start.as_secs_f64()).fold(f64::INFINITY, f64::min);
    let completion_s =
        ends.filter(|ends| !ends.is_empty()).map(|ends| ends.into_iter().fold(0.0, f64::max) - first_start);
    Aggregate {
        goodput_bps: goodputs.bps,
        jain_fairness: goodputs.jain_fairness,
        completion_s,
        retransmits: flows.iter().filter_map(|flow| flow.retransmits).sum::<u64>()
            + dialogues().map(|of| of.transactions.retransmits).sum::<u64>(),
        timeouts: flows.iter().filter_map(|flow| flow.timeouts).sum::<u64>()
            + dialogues().map(|of| of.timeouts).sum::<u64>(),
        fast_retransmits: flows.iter().filter_map(|flow| flow.fast_retransmits).sum::<u64>()
            + dialogues().map(|of| of.fast_retransmits).sum::<u64>(),
        udp_goodput_bps: goodputs.udp_bps,
        datagrams: flows.iter().filter_map(|flow| flow.datagrams).reduce(Datagrams::with),
        sessions: of_sessions,
        air_time_share: (!scenario.wlans.is_empty()).then(|| {
            stations.iter().map(|station| station.air_time_share).sum::<f64>() / channels(scenario) as f64
        }),
        air_time_fairness: air_time_fairness(scenario, flows, stations),
    }
}

/// Jain's fairness index of the air time of clients of access points that have flows.
fn air_time_fairness(scenario: &Scenario, flows: &[FlowSummary], stations: &[StationSummary]) -> Option<f64> {
    let over_tcp = flows.iter().filter(|flow| flow.datagrams.is_none());
    let over_tcp: Vec<_> = over_tcp.map(|flow| (&flow.from, &flow.to)).collect();
    let counted = if over_tcp.is_empty() {
        flows.iter().map(|flow| (&flow.from, &flow.to)).collect()
    } else {
        over_tcp
    };
    let has_flow = |name: &String| counted.iter().any(|(from, to)| *from == name || *to == name);
    let clients = scenario.wlans.iter().filter(|wlan| wlan.access_point_count() > 0).flat_map(|wlan| {
        let clients = wlan.stations.iter().skip(wlan.access_point_count());
        clients.map(|station| (&wlan.name, &scenario.nodes[station.node].name))
    });
    let air_times: Vec<f64> = clients
        .filter(|(_, name)| has_flow(name))
        .filter_map(|(wlan, name)| stations.iter().find(|it| it.wlan == *wlan && it.name == *name))
        .map(|station| station.air_time_s + station.air_time_to_s)
        .collect();
    if air_times.len() < 2 { None } else { jain_fairness(&air_times) }
}
