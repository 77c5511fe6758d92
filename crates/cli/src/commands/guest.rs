//! `lasthop guest`: the first program of a guest in simulated time, or a gateway there that has a process of its own.

use std::io;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, anyhow};
use clap::{Args, Parser};
use lasthop_scenario::Scenario;
use lasthop_trial::Options;
use lasthop_trial::plan;
use lasthop_trial::simulated::guest::{self, Guest, gateway, trial};
use lasthop_trial::simulated::job::{Case, Job};

use super::trial::{self as of_trial, chosen};
use crate::failure::Failure;

/// The arguments of `guest`.
#[derive(Args)]
pub struct Arguments {
    /// The number of the gateway that this process is; without it, this is the first program
    gateway: Option<usize>,
}

/// The command line of the guest's job.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: of_trial::Arguments,
}

/// Runs the part of the hosts, as the first program of a guest, and shuts it down.
pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(number) = arguments.gateway {
        return be_gateway(number).map_err(Failure::Run);
    }
    if std::process::id() != 1 {
        return Err(Failure::usage(anyhow!(
            "`lasthop guest` is the first program of a guest in simulated time"
        )));
    }
    let guest = Guest::open().map_err(|error| Failure::Run(error.into()))?;
    do_job(&guest).map_err(|error| Failure::Run(error.into()))?;
    guest::shut_down().map(|never| match never {}).map_err(|error| Failure::Run(error.into()))
}

fn do_job(guest: &Guest) -> io::Result<()> {
    match guest.job() {
        Job::Trial(wanted) => try_case(guest, wanted).or_else(|problem| guest.fail(&format!("{problem:#}"))),
        Job::Programs(programs) => guest::programs::run(guest, programs),
    }
}

fn be_gateway(number: usize) -> anyhow::Result<()> {
    let wanted =
        gateway::left().context("this is not a guest in which gateways have processes of their own")?;
    let (scenario, case) = found(&wanted)?;
    Ok(gateway::run(&wanted, &scenario, &case, number)?)
}

fn try_case(guest: &Guest, wanted: &Case) -> anyhow::Result<()> {
    let (scenario, case) = found(wanted)?;
    let stop = AtomicBool::new(false);
    let options = Options { sample_every: None, stop: &stop, programs: &[], simulation: None };
    Ok(trial::run(guest, wanted, &scenario, &case, options)?)
}

/// The scenario and the case, as the process outside has found them.
fn found(wanted: &Case) -> anyhow::Result<(Scenario, plan::Case)> {
    let words = std::iter::once("try").chain(trial::arguments(wanted).iter().map(String::as_str));
    let CommandLine { arguments } = CommandLine::try_parse_from(words)?;
    let scenario = chosen(&arguments).map_err(|failure| anyhow!(failure.message().unwrap_or_default()))?;
    let case = trial::case(wanted, &scenario).context("the scenario has changed meanwhile")?;
    Ok((scenario, case))
}
