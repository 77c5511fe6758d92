//! A scenario tried between real hosts on this machine alone: server, gateway, client, the kernel's
//! own TCP, emulated links.
//!
//! | module | what is in it |
//! |---|---|
//! | [`site`] | hosts: namespaces with addresses and routes |
//! | `flows` | the flows of a run, each from its start on |
//! | [`transfer`] | a TCP transfer, checked octet by octet |
//! | [`sample`] | its sender over time |
//! | [`latency`] | what a small packet feels beside it |
//! | [`plan`] | which runs there are |
//! | [`stations`] | what the stations of 802.11 cells had of the air |
//! | `congestion` | a congestion control, as the kernel and the simulator call it |
//! | [`Program`] | another program in the place of the gateway |
//! | [`prediction`] | what the simulator has for the same run, with its own TCP |
//! | [`verdict`] | whether a run can be believed |
//!
//! Start with [`run`]. Every host, device and filter belongs to the process: whatever ends it, they
//! vanish.

mod congestion;
mod error;
mod flows;
mod gateway;
pub mod latency;
pub mod plan;
pub mod prediction;
mod program;
pub mod sample;
pub mod site;
pub mod stations;
pub mod transfer;
pub mod verdict;

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_agent::counter::{ACKS_GENERATED, ACKS_SUPPRESSED};
use lasthop_scenario::{BuildError, RealHosts, Scenario};
use lasthop_sim::NodeId;
use serde::Serialize;

use crate::clock;
use crate::emulator::{self, Device, Emulator};
use crate::gateway::Gateway;
use crate::gateway::packet_loop::LoopReport;
use crate::gateway::plan::AgentMaker;
use plan::{Case, CaseFlow};
use prediction::{Predicted, share_of};
use sample::Sample;
use site::{Site, device_name, edge, ends};
use stations::StationUse;

pub use error::TrialError;
pub use flows::Options;
pub use program::Program;

/// What one run brought for one of its flows.
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
    /// The flows of the same run.
    pub beside: Vec<String>,
    /// Octets a second times eight that the receiver got, without what was to settle.
    pub goodput_bps: f64,
    /// The same in the simulator, with its own TCP, same seed and time; `None` for congestion
    /// controls that it does not have.
    pub predicted_goodput_bps: Option<f64>,
    /// Its part of the goodput of all flows of the run.
    pub share: f64,
    /// The same in the simulator.
    pub predicted_share: Option<f64>,
    /// Octets that the receiver got.
    pub octets: u64,
    /// Of a flow with a size: from its opening to its last octet; `None` if time was up before.
    pub completion_s: Option<f64>,
    /// Segments that the sender's TCP sent again.
    pub retransmits: u64,
    /// Round-trip time of a small packet beside the transfer, over the whole path of the run's
    /// first flow: the median; `None` if none came back.
    pub latency_median_ms: Option<f64>,
    /// The same: the 95th percentile.
    pub latency_p95_ms: Option<f64>,
    /// Processor time of the gateway's packet loop, as a part of one core; `None` without a
    /// gateway.
    pub gateway_cores: Option<f64>,
    /// What the gateway's packet loop did; `None` without a gateway.
    pub gateway: Option<LoopReport>,
    /// Every octet arrived as it was sent.
    pub intact: bool,
    /// What each station of each 802.11 cell had of the air.
    pub stations: Vec<StationUse>,
    /// ACKs that agents in the model made in receivers' names; the gateway's are among its own.
    pub acks_generated: u64,
    /// ACKs that agents in the model kept off the air; the gateway's are among its own.
    pub acks_suppressed: u64,
    /// How the emulator did.
    pub emulator: emulator::Summary,
    /// Whether the machine kept out of it: neither the emulator nor the gateway was late.
    pub trusted: bool,
    /// Why not; each a sentence.
    pub because: Vec<String>,
    /// The sender over time, if asked for.
    #[serde(skip)]
    pub series: Vec<Sample>,
    /// The simulator's sender over time, if asked for and it has the congestion control.
    #[serde(skip)]
    pub predicted_series: Vec<Sample>,
}

/// Runs one case: builds the hosts, runs its flows, and takes everything down. One outcome for each
/// flow, in order.
pub fn run(scenario: &Scenario, case: &Case, options: Options<'_>) -> Result<Vec<Outcome>, TrialError> {
    run_with(scenario, case, None, options)
}

/// Runs one case with another agent in place of the scheme's own: a test of what reaches an agent.
#[doc(hidden)]
pub fn run_with(
    scenario: &Scenario,
    case: &Case,
    agent: Option<AgentMaker>,
    options: Options<'_>,
) -> Result<Vec<Outcome>, TrialError> {
    let edge = edge(scenario)?;
    let scheme = &scenario.schemes[case.scheme_index];
    let site = Site::new(scenario)?;
    let unsuitable = |error: BuildError| TrialError::Unsuitable(error.to_string());
    let addresses: Vec<IpAddr> = (0..scenario.nodes.len()).map(|node| site.address(node)).collect();
    let hosts = RealHosts { gateway: edge, addresses: &addresses };
    let built = scenario.build_links(scheme, case.seed, hosts).map_err(unsuitable)?;
    let (mut emulated, mut transmitters) = (Vec::new(), Vec::new());
    for end in ends(scenario) {
        let (first, second) = built.ends[end.link];
        let (node, peer): (NodeId, NodeId) = if end.place == 0 { (first, second) } else { (second, first) };
        let name = device_name(&scenario.links[end.link], end.link);
        if end.node == edge && scenario.links[end.link].link.is_wireless() {
            let (first, second) = built.transmitters[end.link];
            transmitters.push((if end.place == 0 { first } else { second }, built.links[end.link]));
        }
        emulated.push(emulator::End { node, peer, device: Device::tap_in(&site.hosts[end.node], &name)? });
    }
    site.configure(scenario)?;
    // Before the emulator's clock runs: the kernel checks the gateway's programs without a break,
    // for 20 ms and more.
    let program = options.programs.iter().find(|program| program.label == case.scheme);
    let program = program.map(|program| {
        let (core, radio) = gateway::ports(scenario, edge);
        program
            .start(&site.hosts[edge], &core, &radio)
            .map_err(|error| TrialError::Program { path: program.path.clone(), error })
    });
    let program = program.transpose()?;
    let gateway = match scheme.stack() {
        _ if program.is_some() => None,
        Some(stack) if !stack.is_nothing() => Some(gateway::start(scenario, edge, &site, stack, agent)?),
        _ => None,
    };
    let mut emulator = Emulator::new(built.world, emulated);
    let (gateway, needs) =
        gateway.map_or((None, LinkSenses::empty()), |(gateway, needs)| (Some(gateway), needs));
    if let Some(gateway) = gateway.as_ref().filter(|_| needs.contains(LinkSenses::FRAME_FATE)) {
        gateway::listen(gateway, &mut emulator, transmitters)?;
    }
    let failed = |error| TrialError::Transfer { what: "the emulator".to_owned(), error };
    let running = emulator.spawn(emulator::Options::default()).map_err(failed)?;
    let busy_before = gateway.as_ref().map(Gateway::report).transpose()?.map(|report| report.cpu_s);

    let zero = clock::now();
    let times = case.times(scenario);
    flows::wait_until(zero + times.first, options.stop);
    let began = clock::now();
    let (transferred, round_trips) = flows::transfer_all(scenario, case, &site, zero, options)?;
    if options.stop.load(Ordering::Relaxed) {
        return Err(TrialError::Interrupted);
    }
    let took = clock::now().since(began).as_secs_f64();
    let report = gateway.as_ref().map(Gateway::report).transpose()?;
    let seats = stations::seats(scenario, &built.wlans);
    let looked = running.with_world(move |world| (stations::look(world, seats), world.reported().clone()));
    let (stations, reported) = looked.map_err(|gone| failed(io::Error::other(gone)))?;
    let busy = report.as_ref().map(|report| report.cpu_s);
    // First the emulator's clock, for the same reason; what the gateway then misses is its
    // interface.
    let summary = running.stop().map_err(failed)?;
    drop(gateway);
    let is_program = program.is_some();
    drop(program);

    let because = verdict::doubts(&summary, report.as_ref());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let predicted = if is_program {
        None
    } else {
        prediction::predict(scenario, case, options.sample_every).map_err(unsuitable)?
    };
    let goodputs: Vec<f64> = transferred.iter().map(|flow| flow.goodput_bps).collect();
    let mut predicted = predicted.into_iter().flatten();
    let flows = case.flows.iter().zip(transferred).map(|(flow, transferred)| {
        let predicted = predicted.next();
        Outcome {
            flow: flow.name.clone(),
            congestion: flow.congestion.clone(),
            scheme: case.scheme.clone(),
            seed: case.seed,
            beside: others(case, flow),
            goodput_bps: transferred.goodput_bps,
            predicted_goodput_bps: predicted.as_ref().map(|flow| flow.goodput_bps),
            share: share_of(transferred.goodput_bps, &goodputs),
            predicted_share: predicted.as_ref().map(|flow| flow.share),
            octets: transferred.octets,
            completion_s: transferred.completion.map(|time| time.as_secs_f64()),
            retransmits: transferred.retransmits,
            latency_median_ms: round_trips.quantile(0.5).map(millis),
            latency_p95_ms: round_trips.quantile(0.95).map(millis),
            gateway_cores: busy.zip(busy_before).map(|(after, before)| (after - before) / took),
            gateway: report.clone(),
            intact: transferred.intact,
            stations: stations.clone(),
            acks_generated: reported.of(&ACKS_GENERATED),
            acks_suppressed: reported.of(&ACKS_SUPPRESSED),
            emulator: summary.clone(),
            trusted: because.is_empty(),
            because: because.clone(),
            series: transferred.series,
            predicted_series: predicted.map(|flow: Predicted| flow.series).unwrap_or_default(),
        }
    });
    Ok(flows.collect())
}

fn others(case: &Case, flow: &CaseFlow) -> Vec<String> {
    case.flows.iter().filter(|other| *other != flow).map(|other| other.name.clone()).collect()
}
