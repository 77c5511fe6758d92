//! `try --time simulated`: the kernel of the runs, and how a guest reads the scenario again.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;

use anyhow::{Context as _, anyhow};
use lasthop_scenario::Scenario;
use lasthop_trial::simulated::fingerprint;
use lasthop_trial::{HostKernel, Reading, Simulation, Wifi};

use crate::commands::simulated::{folder_of_guest, guest_program, kernel, named_kernel};
use crate::failure::Failure;

/// The kernels of the runs, the newest one if none is named, and how a guest reads the scenario again.
pub(super) fn simulations(
    scenario: &Scenario,
    kernels: &[String],
    wifi: Wifi,
) -> Result<Vec<Simulation>, Failure> {
    let reading = reading(scenario)?;
    let guest = guest_program()?;
    let own_kernels = own_kernels(scenario)?;
    let named = |wanted: Option<&str>| -> Result<Simulation, Failure> {
        let kernel = kernel(wanted)?;
        let (guest, reading, own_kernels) = (guest.clone(), reading.clone(), own_kernels.clone());
        Ok(Simulation { kernel, own_kernels, guest, reading, wifi })
    };
    if kernels.is_empty() {
        return Ok(vec![named(None)?]);
    }
    let mut all: Vec<Simulation> = Vec::new();
    for kernel in kernels {
        let next = named(Some(kernel))?;
        if all.iter().any(|other| other.kernel.name == next.kernel.name) {
            return Err(Failure::usage(anyhow!(
                "--kernel: {} twice; expected different kernels",
                next.kernel.name
            )));
        }
        all.push(next);
    }
    Ok(all)
}

/// The kernels of hosts that have their own, by the indices of their nodes.
fn own_kernels(scenario: &Scenario) -> Result<BTreeMap<usize, HostKernel>, Failure> {
    let kernels = scenario.trial.kernels.iter().map(|(node, wanted)| {
        let key = || format!("try.kernels.{}: {wanted}", scenario.nodes[*node].name);
        Ok((*node, named_kernel(wanted).with_context(key)?))
    });
    kernels.collect::<anyhow::Result<_>>().map_err(Failure::usage)
}

/// How a guest reads the scenario again.
fn reading(scenario: &Scenario) -> Result<Reading, Failure> {
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
    let directory = env::current_dir().context("the current directory").map_err(Failure::Run)?;
    Ok(Reading { directory, fingerprint, arguments })
}
