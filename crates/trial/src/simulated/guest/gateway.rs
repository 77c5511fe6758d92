//! A gateway in a process of its own, inside the guest. It finds the case where the first program has left it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lasthop_gateway::{Config, Gateway, Start};
use lasthop_scenario::Scenario;

use super::super::job::Case as Wanted;
use crate::error::TrialError;
use crate::gateway::Clock;
use crate::gateway_process::socket_of;
use crate::gateways::config_at_edge;
use crate::plan::{Case, edges};
use crate::radios::{GUEST_FOLDER, Radios};
use crate::site;

/// Leaves the case for the processes of gateways.
pub(super) fn leave(wanted: &Wanted) -> Result<(), TrialError> {
    let left = serde_json::to_vec(wanted).map_err(TrialError::Control)?;
    fs::write(place(), left).map_err(|error| TrialError::Files { folder: GUEST_FOLDER.into(), error })
}

/// The case that was left.
pub fn left() -> io::Result<Wanted> {
    serde_json::from_slice(&fs::read(place())?).map_err(io::Error::other)
}

/// Runs the gateway with this number of a case, in the network namespace of this process, until it ends.
pub fn run(wanted: &Wanted, scenario: &Scenario, case: &Case, number: usize) -> Result<(), TrialError> {
    let radios = Radios::with(scenario, wanted.wifi);
    let stack = scenario.schemes[case.scheme_index].stack();
    let Some((stack, edge)) = stack.zip(edges(scenario)?.get(number).copied()) else {
        let error = io::Error::other("the case has no such gateway");
        return Err(TrialError::GatewayProcess { number, error });
    };
    let at = (edge, site::addresses(scenario, &radios)[edge]);
    let config = config_at_edge(scenario, stack, at, &radios, None, Clock::Simulated)?;
    let config = Config { control: Some(socket_of(number)), ..config };
    Start { config, file: None, owns_process: true }.here().and_then(Gateway::wait)?;
    Ok(())
}

fn place() -> PathBuf {
    Path::new(GUEST_FOLDER).join("case")
}
