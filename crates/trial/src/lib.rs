//! Runs a scenario between real hosts on one machine: server, gateway and client, with the kernel's
//! own TCP and emulated links.
//!
//! | module | what is in it |
//! |---|---|
//! | `site` | hosts: namespaces with addresses and routes |
//! | `bridged` | the same where clients roam: a bridged network |
//! | `flows` | runs the flows of a case, and its sessions beside them |
//! | `transfer` | a TCP transfer, checked octet by octet |
//! | `sessions` | the sessions of a run: `dialogue`s over TCP and `call`s over RTP, at the times of a `timetable` |
//! | [`session`] | the results of a session, real and predicted |
//! | `pattern` | octets that depend on their position |
//! | `socket`, `wait` | sockets of hosts; waiting |
//! | [`sample`] | the state of a sender over time |
//! | `latency` | round-trip times of small packets during a run |
//! | [`plan`] | the runs of a trial |
//! | `gateway`, `gateways` | the gateway at an edge, and what its link layers report; all gateways of a run |
//! | [`roaming`] | gateways between which clients roam, and their hand-offs |
//! | [`stations`] | the use of the air by the stations of 802.11 cells |
//! | `congestion` | the names of congestion controls in the kernel and in the simulator |
//! | [`Program`] | another program instead of the gateway |
//! | [`prediction`] | the results of the same run in the simulator, with its own TCP |
//! | `verdict` | whether a run can be trusted |
//! | `outcome` | all results of a run |
//!
//! Start with [`run`]. Every host, device and filter belongs to the process, and vanishes when the
//! process ends for any reason.

mod bridged;
mod call;
mod congestion;
mod dialogue;
mod error;
mod flows;
mod gateway;
mod gateways;
mod latency;
mod outcome;
mod pattern;
pub mod plan;
pub mod prediction;
mod program;
pub mod roaming;
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
use std::sync::atomic::Ordering;

use lasthop_scenario::{RealHosts, Scenario};

use bridged::Lan;
use gateways::Gateways;
use lasthop_emulator::{self as emulator, Emulator};
use lasthop_gateway::packet_loop::LoopReport;
use lasthop_gateway::plan::AgentMaker;
use lasthop_linux::clock;
use outcome::Circumstances;
use plan::Case;
use roaming::Ways;
use site::Site;

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
    agent: Option<&AgentMaker>,
    options: Options<'_>,
) -> Result<RunOutcome, TrialError> {
    let lan = Lan::of(scenario);
    let edges = plan::edges(scenario)?;
    let scheme = &scenario.schemes[case.scheme_index];
    let addresses = lan.as_ref().map_or_else(|| site::addresses(scenario), Lan::addresses);
    let site = Site::new(scenario, addresses)?;
    let hosts = RealHosts { gateways: &edges, addresses: &site.addresses };
    let built = scenario.build_links(scheme, case.seed, hosts)?;
    let emulated = match &lan {
        Some(lan) => lan.attach(&site, &built)?,
        None => site.attach(scenario, &built)?,
    };
    match &lan {
        Some(lan) => lan.configure(&site)?,
        None => site.configure(scenario)?,
    }
    // Started before the emulator's clock, because the kernel verifies the gateway's programs
    // without a break, for 20 ms and more.
    let program = options.programs.iter().find(|program| program.label == case.scheme);
    let program = program.map(|program| {
        if lan.is_some() {
            let problem = "a program does not learn where clients roam; leave it out";
            return Err(TrialError::unsuitable("--beside", problem));
        }
        let (core, radio) = gateway::ports(scenario, edges[0]);
        program
            .start(&site.hosts[edges[0]], &core, &radio)
            .map_err(|error| TrialError::Program { path: program.path.clone(), error })
    });
    let program = program.transpose()?;
    let mut gateways = match scheme.stack() {
        Some(stack) if program.is_none() && !stack.is_nothing() => {
            Gateways::start(scenario, &site, stack, agent)?
        }
        _ => Gateways::none(),
    };
    let stations_that_roam = lan.as_ref().map(|lan| lan.stations(&built));
    let transmitters = gateway::transmitters(scenario, edges[0], &built);
    let mut emulator = Emulator::new(built.world, emulated);
    gateways.connect(&mut emulator, stations_that_roam, transmitters)?;
    let failed = |error| TrialError::Transfer { what: "the emulator".to_owned(), error };
    let running = emulator.spawn(emulator::Options::default()).map_err(failed)?;
    let cpu_s = |reports: &[LoopReport]| reports.iter().map(|report| report.cpu_s).sum::<f64>();
    let busy_before = cpu_s(&gateways.reports()?);

    let zero = clock::now();
    let times = case.times(scenario);
    wait::until(zero + times.first, options.stop);
    let began = clock::now();
    let results = flows::run_all(scenario, case, &site, zero, options)?;
    if options.stop.load(Ordering::Relaxed) {
        return Err(TrialError::Interrupted);
    }
    let took = clock::now().since(began).as_secs_f64();
    let reports = gateways.reports()?;
    let stations = stations::list(scenario, &built.wlans);
    let seen = running.with_world(move |world| {
        (stations::used(world, stations), world.reported().clone(), Ways::of(world))
    });
    let (stations, reported, ways) = seen.map_err(|gone| failed(io::Error::other(gone)))?;
    // The emulator's clock stops first, for the same reason; the gateways then only lose their
    // interfaces.
    let summary = running.stop().map_err(failed)?;
    let ways = match gateways.served()? {
        Some(served) => ways.with_gateways(&served),
        None => ways,
    };
    drop(gateways);
    let is_program = program.is_some();
    drop(program);

    let because = verdict::reasons(&summary, &reports, &results.round_trips, results.kept_waiting);
    let predicted =
        if is_program { None } else { prediction::predict(scenario, case, options.sample_every)? };
    let circumstances = Circumstances {
        gateway_cores: (!reports.is_empty()).then(|| (cpu_s(&reports) - busy_before) / took),
        gateways: reports,
        hand_offs: lan.is_some().then(|| ways.hand_offs()),
        stations,
        reported,
        emulator: summary,
        because,
    };
    Ok(RunOutcome::new(scenario, case, results, predicted.as_ref(), &circumstances))
}
