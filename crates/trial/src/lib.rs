//! Runs a scenario between real hosts on one machine: server, gateway and client, with the kernel's
//! own TCP and emulated links.
//!
//! | module | what is in it |
//! |---|---|
//! | `wall_clock` | a run on this machine, in real time |
//! | [`simulated`] | a run in the simulated time of a kernel of its own |
//! | `options` | what a run is asked for |
//! | `hosts` | the part of a run that the hosts have: their gateways, flows and sessions |
//! | `here` | which hosts are on a kernel |
//! | `parts` | the parts of hosts on several kernels, and how they are joined |
//! | `model` | the part that the model between them has |
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
//! | `gateway_process` | a gateway that is killed during the run |
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

mod adapters;
mod bridged;
mod call;
mod congestion;
mod dialogue;
mod error;
mod flows;
mod gateway;
mod gateway_process;
mod gateways;
mod here;
mod hosts;
mod latency;
mod model;
mod options;
mod outcome;
mod parts;
mod pattern;
pub mod plan;
pub mod prediction;
mod program;
mod radios;
pub mod roaming;
pub mod sample;
pub mod session;
mod sessions;
pub mod simulated;
mod site;
mod socket;
pub mod stations;
mod timetable;
mod transfer;
mod verdict;
mod wait;
mod wall_clock;

use lasthop_gateway::plan::AgentMaker;
use lasthop_scenario::Scenario;

use plan::Case;

pub use error::TrialError;
pub use options::{GuestProgram, HostKernel, Options, Reading, Simulation};
pub use outcome::{Crash, Outcome, RunOutcome};
pub use program::Program;
pub use radios::Wifi;

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
    let (hosts, model) = match options.simulation {
        Some(simulation) => simulated::run(scenario, case, simulation, options)?,
        None => wall_clock::run(scenario, case, agent, options)?,
    };
    let predicted = if options.program(case).is_some() {
        None
    } else {
        prediction::predict(scenario, case, options.sample_every)?
    };
    let kernel = options.simulation.map(|simulation| simulation.label(scenario));
    Ok(RunOutcome::new(scenario, (case, kernel.as_deref()), hosts, model, predicted.as_ref()))
}
