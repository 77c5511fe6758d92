//! `try --time simulated`: the kernel of the runs, and how a guest reads the scenario again.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lasthop_kernels::Kernels;
use lasthop_scenario::Scenario;
use lasthop_trial::simulated::fingerprint;
use lasthop_trial::{GuestProgram, Simulation, Wifi};

use crate::failure::Failure;

/// The subcommand of the first program of a guest (`commands/guest.rs`).
const GUEST: &str = "guest";

/// The kernels of the runs, the newest one if none is named, and how a guest reads the scenario again.
pub(super) fn simulations(
    scenario: &Scenario,
    kernels: &[String],
    wifi: Wifi,
) -> Result<Vec<Simulation>, Failure> {
    let guest = guest_program(scenario)?;
    let named = |wanted: Option<&str>| -> Result<Simulation, Failure> {
        let (kernel, name) = kernel(wanted)?;
        Ok(Simulation { kernel, name, guest: guest.clone(), wifi })
    };
    if kernels.is_empty() {
        return Ok(vec![named(None)?]);
    }
    let mut all: Vec<Simulation> = Vec::new();
    for kernel in kernels {
        let next = named(Some(kernel))?;
        if all.iter().any(|other| other.name == next.name) {
            return Err(Failure::usage(anyhow!("--kernel: {} twice; expected different kernels", next.name)));
        }
        all.push(next);
    }
    Ok(all)
}

/// The path of a kernel, and its name in tables. A name without a slash is a version.
fn kernel(wanted: Option<&str>) -> Result<(PathBuf, String), Failure> {
    if let Some(path) = wanted.filter(|wanted| wanted.contains('/')) {
        if !Path::new(path).is_file() {
            return Err(Failure::usage(anyhow!("--kernel {path}: expected the file of a kernel")));
        }
        return Ok((path.into(), path.to_owned()));
    }
    let kernel = Kernels::of_user().map_err(Failure::usage)?.find(wanted).map_err(Failure::usage)?;
    Ok((kernel.path(), kernel.record().version().to_string()))
}

/// The first program of the guests.
fn guest_program(scenario: &Scenario) -> Result<GuestProgram, Failure> {
    if let Some(other) = scenario.files.iter().find(|file| !file.is_file()) {
        let what = format!("{}: expected a file in simulated time: it is read twice", other.display());
        return Err(Failure::usage(anyhow!(what)));
    }
    if let Some((file, folder)) = scenario.files.iter().find_map(|file| Some((file, folder_of_guest(file)?)))
    {
        let what = format!(
            "{}: the guest has a file system of its own at {folder}; expected a scenario elsewhere",
            file.display()
        );
        return Err(Failure::usage(anyhow!(what)));
    }
    let fingerprint = fingerprint(scenario).context("a file of the scenario").map_err(Failure::Run)?;
    let arguments: Vec<OsString> = env::args_os().skip(1).skip_while(|word| word != "try").skip(1).collect();
    let in_utf8 = |word: OsString| {
        word.into_string().map_err(|word| anyhow!("{}: expected UTF-8 in simulated time", word.display()))
    };
    let arguments = arguments.into_iter().map(in_utf8).collect::<Result<_, _>>().map_err(Failure::usage)?;
    let path = env::current_exe().context("the path of this program").map_err(Failure::Run)?;
    if path.to_string_lossy().contains(|letter: char| letter.is_whitespace() || letter == '\u{fffd}') {
        let what = format!(
            "{}: the path of this program is on the command line of a kernel; expected one in UTF-8 without spaces",
            path.display()
        );
        return Err(Failure::usage(anyhow!(what)));
    }
    let directory = env::current_dir().context("the current directory").map_err(Failure::Run)?;
    Ok(GuestProgram { path, argument: GUEST, directory, fingerprint, arguments })
}

/// The folder in the place of which a guest has a file system of its own, if a file is there.
fn folder_of_guest(file: &Path) -> Option<&'static str> {
    let file = file.canonicalize().ok()?;
    lasthop_trial::simulated::guest::OWN_FOLDERS.into_iter().find(|folder| file.starts_with(folder))
}
