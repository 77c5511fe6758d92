//! `lasthop guest`: the first program of a guest in simulated time.

use std::io;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, anyhow};
use clap::Parser;
use lasthop_trial::Options;
use lasthop_trial::simulated::guest::{self, Guest, trial};
use lasthop_trial::simulated::job::{Case, Job};

use super::trial::{Arguments, chosen};
use crate::failure::Failure;

/// The command line of the guest's job.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

/// Runs the part of the hosts, as the first program of a guest, and shuts it down.
pub fn execute() -> Result<(), Failure> {
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

fn try_case(guest: &Guest, wanted: &Case) -> anyhow::Result<()> {
    let words = std::iter::once("try").chain(trial::arguments(wanted).iter().map(String::as_str));
    let CommandLine { arguments } = CommandLine::try_parse_from(words)?;
    let scenario = chosen(&arguments).map_err(|failure| anyhow!(failure.message().unwrap_or_default()))?;
    let case = trial::case(wanted, &scenario).context("the scenario has changed meanwhile")?;
    let stop = AtomicBool::new(false);
    let options = Options { sample_every: None, stop: &stop, programs: &[], simulation: None };
    Ok(trial::run(guest, wanted, &scenario, &case, options)?)
}
