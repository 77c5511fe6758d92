//! `try --time simulated`: the kernels of runs, and the first program of their guests.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, anyhow};
use clap::Parser;
use lasthop_kernels::Kernels;
use lasthop_trial::Options;
use lasthop_trial::simulated::Simulation;
use lasthop_trial::simulated::guest::{self, Guest};

use super::{Arguments, chosen};
use crate::failure::Failure;

/// The subcommand that only the first program of a guest has.
pub const GUEST: &str = "guest";

/// The kernel of the runs, and how a guest reads the scenario again.
pub(super) fn simulation(scenario: &Path, kernel: Option<&str>) -> Result<Simulation, Failure> {
    if !scenario.is_file() {
        let what = format!("{}: expected a file in simulated time: it is read twice", scenario.display());
        return Err(Failure::usage(anyhow!(what)));
    }
    let kernel = match kernel {
        // A name without a slash is a version.
        Some(path) if path.contains('/') => Path::new(path).to_owned(),
        wanted => {
            let kernels = Kernels::of_user().map_err(Failure::usage)?;
            kernels.find(wanted).map_err(Failure::usage)?.path()
        }
    };
    let arguments: Vec<OsString> = env::args_os().skip(1).skip_while(|word| word != "try").skip(1).collect();
    let in_utf8 = |word: OsString| {
        word.into_string().map_err(|word| anyhow!("{}: expected UTF-8 in simulated time", word.display()))
    };
    let arguments = arguments.into_iter().map(in_utf8).collect::<Result<_, _>>().map_err(Failure::usage)?;
    let program = env::current_exe().context("the path of this program").map_err(Failure::Run)?;
    if program.to_string_lossy().contains(|letter: char| letter.is_whitespace() || letter == '\u{fffd}') {
        let what = format!(
            "{}: the path of this program is on the command line of a kernel; expected one in UTF-8 without spaces",
            program.display()
        );
        return Err(Failure::usage(anyhow!(what)));
    }
    let directory = env::current_dir().context("the current directory").map_err(Failure::Run)?;
    Ok(Simulation { kernel, program, argument: GUEST, directory, arguments })
}

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
            "`lasthop {GUEST}` is the first program of a guest in simulated time"
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
    let options = Options { sample_every: None, stop: &stop, programs: &arguments.beside, simulation: None };
    Ok(guest.run(&scenario, &case, options)?)
}
