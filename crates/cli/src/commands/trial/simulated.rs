//! `try --time simulated`: the kernel of the runs, and how a guest reads the scenario again.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;

use anyhow::{Context as _, anyhow};
use lasthop_scenario::Scenario;
use lasthop_trial::simulated::fingerprint;
use lasthop_trial::{HostKernel, Reading, Simulation, Wifi};

use crate::commands::simulated::{check_place, guest_program, kernel, named_kernel};
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
        let file = |kernel: &HostKernel| kernel.path.canonicalize().ok();
        if all.iter().any(|other| file(&other.kernel) == file(&next.kernel)) {
            return Err(Failure::usage(anyhow!(
                "--kernel: {} twice; expected different kernels",
                next.kernel.name
            )));
        }
        all.push(next);
    }
    // Kernels of one version and recipe, from different sources.
    let names: Vec<String> = all.iter().map(|it| it.kernel.name.clone()).collect();
    for simulation in &mut all {
        if names.iter().filter(|name| **name == simulation.kernel.name).count() > 1 {
            simulation.kernel.name = simulation.kernel.path.display().to_string();
        }
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
    for file in &scenario.files {
        check_place(file, "a scenario")?;
    }
    let fingerprint = fingerprint(scenario).context("a file of the scenario").map_err(Failure::Run)?;
    let arguments: Vec<OsString> = env::args_os().skip(1).skip_while(|word| word != "try").skip(1).collect();
    let in_utf8 = |word: OsString| {
        word.into_string().map_err(|word| anyhow!("{}: expected UTF-8 in simulated time", word.display()))
    };
    let arguments = arguments.into_iter().map(in_utf8).collect::<Result<_, _>>().map_err(Failure::usage)?;
    let directory = env::current_dir().context("the current directory").map_err(Failure::Run)?;
    check_place(&directory, "a current directory")?;
    Ok(Reading { directory, fingerprint, arguments })
}
