//! `try --time simulated`: the kernel of the runs, and how a guest reads the scenario again.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use lasthop_kernels::Kernels;
use lasthop_scenario::Scenario;
use lasthop_trial::simulated::fingerprint;
use lasthop_trial::{Simulation, Wifi};

use crate::failure::Failure;

/// The subcommand of the first program of a guest (`commands/guest.rs`).
const GUEST: &str = "guest";

/// The kernel of the runs, and how a guest reads the scenario again.
pub(super) fn simulation(
    scenario: &Scenario,
    kernel: Option<&str>,
    wifi: Wifi,
) -> Result<Simulation, Failure> {
    if let Some(other) = scenario.files.iter().find(|file| !file.is_file()) {
        let what = format!("{}: expected a file in simulated time: it is read twice", other.display());
        return Err(Failure::usage(anyhow!(what)));
    }
    let fingerprint = fingerprint(scenario).context("a file of the scenario").map_err(Failure::Run)?;
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
    Ok(Simulation { kernel, program, argument: GUEST, directory, fingerprint, arguments, wifi })
}
