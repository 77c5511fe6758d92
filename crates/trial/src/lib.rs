//! Runs a scenario between real hosts on one machine: server, gateway and client, with the kernel's
//! own TCP and emulated links.
//!
//! | module | what is in it |
//! |---|---|
//! | `site` | hosts: namespaces with addresses and routes |
//! | `flows` | runs the flows of a case, and its sessions beside them |
//! | `transfer` | a TCP transfer, checked octet by octet |
//! | `sessions` | the sessions of a run: `dialogue`s over TCP and `call`s over RTP, at the times of a `timetable` |
//! | [`session`] | the results of a session, real and predicted |
//! | `pattern` | octets that depend on their position |
//! | `socket`, `wait` | sockets of hosts; waiting |
//! | [`sample`] | the state of a sender over time |
//! | `latency` | round-trip times of small packets during a run |
//! | [`plan`] | the runs of a trial |
//! | [`stations`] | the use of the air by the stations of 802.11 cells |
//! | `congestion` | the names of congestion controls in the kernel and in the simulator |
//! | [`Program`] | another program instead of the gateway |
//! | [`prediction`] | the results of the same run in the simulator, with its own TCP |
//! | `verdict` | whether a run can be trusted |
//! | `outcome` | all results of a run |
//!
//! Start with [`run`]. Every host, device and filter belongs to the process, and vanishes when the
//! process ends for any reason.

mod call;
mod congestion;
mod dialogue;
mod error;
mod flows;
mod gateway;
mod latency;
mod outcome;
mod pattern;
pub mod plan;
pub mod prediction;
mod program;
pub mod sample;
pub mod session;
mod sessions;
mod site;
mod socket;
pub mod stations;
mod timetable;
mod transfer;
mod verdict;
mod wait;

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

use lasthop_agent::LinkSenses;
use lasthop_scenario::{RealHosts, Scenario};
use lasthop_sim::NodeId;

use lasthop_emulator::{self as emulator, Device, Emulator};
use lasthop_gateway::Gateway;
use lasthop_gateway::plan::AgentMaker;
use lasthop_linux::clock;
use outcome::Circumstances;
use plan::Case;
use site::{Site, device_name, edge, ends};

pub use error::TrialError;
pub use flows::Options;
pub use outcome::{Outcome, RunOutcome};
pub use program::Program;

/// Runs one case: builds the hosts, runs its flows and sessions, and removes the hosts.
pub fn run(scenario: &Scenario, case: &Case, options: Options<'_>) -> Result<RunOutcome, TrialError> {
    run_with(scenario, case, None, options)
}

/// Runs one case with another agent instead of the scheme's own, so that tests can observe the
/// events of an agent.
#[doc(hidden)]
pub fn run_with(
    scenario: &Scenario,
    case: &Case,
    agent: Option<AgentMaker>,
    options: Options<'_>,
) -> Result<RunOutcome, TrialError> {
    let edge = edge(scenario)?;
    let scheme = &scenario.schemes[case.scheme_index];
    let site = Site::new(scenario)?;
    let addresses: Vec<IpAddr> = (0..scenario.nodes.len()).map(|node| site.address(node)).collect();
    let hosts = RealHosts { gateway: edge, addresses: &addresses };
    let built = scenario.build_links(scheme, case.seed, hosts)?;
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
    // Started before the emulator's clock, because the kernel verifies the gateway's programs
    // without a break, for 20 ms and more.
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
        gateway::report_fates(gateway, &mut emulator, transmitters)?;
    }
    let failed = |error| TrialError::Transfer { what: "the emulator".to_owned(), error };
    let running = emulator.spawn(emulator::Options::default()).map_err(failed)?;
    let busy_before = gateway.as_ref().map(Gateway::report).transpose()?.map(|report| report.cpu_s);

    let zero = clock::now();
    let times = case.times(scenario);
    wait::until(zero + times.first, options.stop);
    let began = clock::now();
    let results = flows::run_all(scenario, case, &site, zero, options)?;
    if options.stop.load(Ordering::Relaxed) {
        return Err(TrialError::Interrupted);
    }
    let took = clock::now().since(began).as_secs_f64();
    let report = gateway.as_ref().map(Gateway::report).transpose()?;
    let stations = stations::list(scenario, &built.wlans);
    let used = running.with_world(move |world| (stations::used(world, stations), world.reported().clone()));
    let (stations, reported) = used.map_err(|gone| failed(io::Error::other(gone)))?;
    let busy = report.as_ref().map(|report| report.cpu_s);
    // The emulator's clock stops first, for the same reason; the gateway then only loses its
    // interface.
    let summary = running.stop().map_err(failed)?;
    drop(gateway);
    let is_program = program.is_some();
    drop(program);

    let because = verdict::reasons(&summary, report.as_ref(), &results.round_trips, results.kept_waiting);
    let predicted =
        if is_program { None } else { prediction::predict(scenario, case, options.sample_every)? };
    let circumstances = Circumstances {
        gateway_cores: busy.zip(busy_before).map(|(after, before)| (after - before) / took),
        gateway: report,
        stations,
        reported,
        emulator: summary,
        because,
    };
    Ok(RunOutcome::new(scenario, case, results, predicted.as_ref(), &circumstances))
}
