//! One run and its summary.

use std::collections::BTreeMap;

use lasthop_packet::Instant;
use lasthop_scenario::{BuildError, Built, Scenario, SchemeChoice};
use lasthop_sim::Observer;
use serde::Serialize;

use crate::stats::jain_fairness;

/// What came of one run; `lasthop run --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The scenario's name.
    pub scenario: String,
    /// The scheme's label.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// Each flow.
    pub flows: Vec<FlowSummary>,
    /// Each station of each IEEE 802.11 cell; empty without one.
    pub stations: Vec<StationSummary>,
    /// All flows together.
    pub aggregate: Aggregate,
    /// What was counted.
    pub counters: BTreeMap<String, u64>,
}

/// What came of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// The flow's name.
    pub name: String,
    /// The scheme's label.
    pub scheme: String,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Goodput in bits a second: octets delivered to the application, from the flow's start to its completion or the end.
    pub goodput_bps: f64,
    /// Octets delivered to the application.
    pub bytes: u64,
    /// Seconds from the flow's start to its last octet; null if it did not complete, or has no end.
    pub completion_s: Option<f64>,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Duplicate ACKs that the sender received.
    pub duplicate_acks: u64,
    /// Mean of the round-trip times that the sender measured, in seconds.
    pub rtt_mean_s: Option<f64>,
}

/// What a station of an IEEE 802.11 cell had of the air.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationSummary {
    /// The cell's name.
    pub wlan: String,
    /// The node's name.
    pub name: String,
    /// Frames that it sent: delivered, or given up.
    pub frames: u64,
    /// Their transmissions.
    pub transmissions: u64,
    /// Frames that it gave up.
    pub frames_given_up: u64,
    /// Seconds that it transmitted for them: data frames, RTS and CTS-to-self, failed ones among them. Acknowledgments and the spaces
    /// between frames are not in it.
    pub air_time_s: f64,
    /// The same as a part of the run, from 0 to 1.
    pub air_time_share: f64,
    /// Mean of the time that a frame was at the head of the queue before its first transmission, in seconds; null without frames.
    pub access_mean_s: Option<f64>,
}

/// All flows together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Sum of the goodputs, in bits a second.
    pub goodput_bps: f64,
    /// Jain's fairness index of the goodputs.
    pub jain_fairness: f64,
    /// Seconds until the last flow with an end was complete; null if one did not complete, or none has an end.
    pub completion_s: Option<f64>,
    /// Sums over the flows.
    pub retransmits: u64,
    /// Sums over the flows.
    pub timeouts: u64,
    /// Sums over the flows.
    pub fast_retransmits: u64,
    /// Sum of the stations' parts of the run in which they transmitted, over the number of cells: frames that collide count each.
    /// Null without an IEEE 802.11 cell.
    pub air_time_share: Option<f64>,
}

/// Runs a scenario under a scheme.
pub fn run(scenario: &Scenario, scheme: &SchemeChoice, seed: u64) -> Result<RunSummary, BuildError> {
    let (summary, _) = run_observed(scenario, scheme, seed, |_| Vec::new())?;
    Ok(summary)
}

/// Runs a scenario under a scheme with observers, and gives them back.
pub fn run_observed(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    observers: impl FnOnce(&Built) -> Vec<Box<dyn Observer>>,
) -> Result<(RunSummary, Vec<Box<dyn Observer>>), BuildError> {
    let mut built = scenario.build(scheme, seed)?;
    for observer in observers(&built) {
        built.world.observe(observer);
    }
    built.world.run(Instant::ZERO + scenario.duration, scenario.stop_when_done);
    let observers = built.world.take_observers();
    debug_assert!(built.world.accounts().balance(), "every packet is accounted for");
    Ok((summarize(scenario, scheme, seed, &built), observers))
}

fn summarize(scenario: &Scenario, scheme: &SchemeChoice, seed: u64, built: &Built) -> RunSummary {
    let world = &built.world;
    let flows: Vec<FlowSummary> = built
        .flows
        .iter()
        .zip(&scenario.flows)
        .map(|(id, model)| {
            let outcome = world.outcome(*id);
            // A wrong octet would be a broken simulator, and every number with it.
            assert!(
                outcome.intact,
                "flow {:?}: the stream that arrived is not the stream that was sent",
                outcome.name
            );
            FlowSummary {
                name: outcome.name,
                scheme: scheme.label.clone(),
                from: scenario.nodes[model.from].name.clone(),
                to: scenario.nodes[model.to].name.clone(),
                goodput_bps: outcome.goodput_bps,
                bytes: outcome.octets,
                completion_s: outcome.completion.map(|completion| completion.as_secs_f64()),
                retransmits: outcome.sender.retransmits,
                timeouts: outcome.sender.timeouts,
                fast_retransmits: outcome.sender.fast_retransmits,
                duplicate_acks: outcome.sender.duplicate_acks,
                rtt_mean_s: outcome.rtt_mean_s,
            }
        })
        .collect();
    let stations = stations(scenario, built);
    let aggregate = aggregate(scenario, &flows, &stations);
    RunSummary {
        scenario: scenario.name.clone(),
        scheme: scheme.label.clone(),
        seed,
        duration_s: world.now().as_secs_f64(),
        flows,
        stations,
        aggregate,
        counters: counters(built),
    }
}

fn stations(scenario: &Scenario, built: &Built) -> Vec<StationSummary> {
    let world = &built.world;
    let seconds = world.now().as_secs_f64();
    let cells = scenario.wlans.iter().zip(&built.wlans);
    let stations = cells.flat_map(|(model, cell)| {
        let stations = model.stations.iter().zip(&cell.stations);
        stations.map(|(station, id)| (model.name.clone(), station.node, world.radio_use(cell.wlan, *id)))
    });
    stations
        .map(|(wlan, node, used)| {
            let air_time_s = used.air_time.as_secs_f64();
            StationSummary {
                wlan,
                name: scenario.nodes[node].name.clone(),
                frames: used.frames,
                transmissions: used.transmissions,
                frames_given_up: used.given_up,
                air_time_s,
                air_time_share: if seconds > 0.0 { air_time_s / seconds } else { 0.0 },
                access_mean_s: (used.frames > 0).then(|| used.access.as_secs_f64() / used.frames as f64),
            }
        })
        .collect()
}

fn aggregate(scenario: &Scenario, flows: &[FlowSummary], stations: &[StationSummary]) -> Aggregate {
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let with_end = || scenario.flows.iter().zip(flows).filter(|(model, _)| model.size.is_some());
    let ends: Option<Vec<f64>> = with_end()
        .map(|(model, flow)| flow.completion_s.map(|completion| model.start.as_secs_f64() + completion))
        .collect();
    let first_start = with_end().map(|(model, _)| model.start.as_secs_f64()).fold(f64::INFINITY, f64::min);
    let completion_s =
        ends.filter(|ends| !ends.is_empty()).map(|ends| ends.into_iter().fold(0.0, f64::max) - first_start);
    Aggregate {
        goodput_bps: goodputs.iter().sum(),
        jain_fairness: jain_fairness(&goodputs),
        completion_s,
        retransmits: flows.iter().map(|flow| flow.retransmits).sum(),
        timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
        fast_retransmits: flows.iter().map(|flow| flow.fast_retransmits).sum(),
        air_time_share: (!scenario.wlans.is_empty()).then(|| {
            stations.iter().map(|station| station.air_time_share).sum::<f64>() / scenario.wlans.len() as f64
        }),
    }
}

fn counters(built: &Built) -> BTreeMap<String, u64> {
    let counters = built.world.counters();
    let accounts = built.world.accounts();
    let mut named = BTreeMap::from(
        [
            ("events", counters.events),
            ("frames_sent", counters.frames_sent),
            ("frames_lost", counters.frames_lost),
            ("frames_given_up", counters.frames_given_up),
            ("link_acks_lost", counters.link_acks_lost),
            ("duplicate_frames", counters.duplicate_frames),
            ("control_messages", counters.control_messages),
            ("local_retransmits", counters.local_retransmits),
            ("duplicate_acks_suppressed", counters.duplicate_acks_suppressed),
            ("agents_at_bound", counters.reports_at_bound),
            ("packets_originated", accounts.originated),
            ("packets_consumed", accounts.consumed),
            ("packets_absorbed", accounts.absorbed),
            ("packets_in_transit", accounts.in_transit),
            ("packets_held_by_agents", built.world.held_by_agents()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    for (cause, count) in &accounts.dropped {
        named.insert(format!("dropped_{}", cause.name().replace(' ', "_").to_lowercase()), *count);
    }
    named
}
