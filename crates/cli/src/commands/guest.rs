//! `lasthop guest`: the first program of a guest of `try --time simulated`.

use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, anyhow};
use clap::Parser;
use lasthop_trial::Options;
use lasthop_trial::simulated::guest::{self, Guest};

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
    let done = match run(&guest) {
        Ok(()) => Ok(()),
        Err(failure) => guest.fail(&format!("{failure:#}")),
    };
    done.map_err(|error| Failure::Run(error.into()))?;
    guest::shut_down().map(|never| match never {}).map_err(|error| Failure::Run(error.into()))
}

fn run(guest: &Guest) -> anyhow::Result<()> {
    let words = std::iter::once("try").chain(guest.arguments().iter().map(String::as_str));
    let CommandLine { arguments } = CommandLine::try_parse_from(words)?;
    let scenario = chosen(&arguments).map_err(|failure| anyhow!(failure.message().unwrap_or_default()))?;
    let case = guest.case(&scenario).context("the scenario has changed meanwhile")?;
    let stop = AtomicBool::new(false);
    let options = Options { sample_every: None, stop: &stop, programs: &[], simulation: None };
    Ok(guest.run(&scenario, &case, options)?)
}
