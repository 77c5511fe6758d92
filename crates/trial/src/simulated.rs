//! A run in simulated time: the hosts are network namespaces of a kernel of their own, which asks this
//! process what time it is, and the model between them is the wire of its network devices.
//!
//! | module | what is in it |
//! |---|---|
//! | [`guest`] | the first program of the guest: it sets the hosts up, runs their part, and reports it |
//! | `control` | what guest and host say to each other, over a device of its own |
//! | `wire` | the model and the control device, as the guest's wire |
//!
//! Nothing here needs root: the guest is an ordinary process. The same scenario, seed and kernel give the same
//! packets at the same times.

mod control;
pub mod guest;
mod wire;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lasthop_emulator::Peer;
use lasthop_emulator::stepped::{Attachment, Stepped};
use lasthop_packet::Instant;
use lasthop_scenario::{RealHosts, Scenario};
use lasthop_uml::{Calendar, End, Kernel, Net, Settings};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::bridged::Lan;
use super::error::TrialError;
use super::gateway;
use super::hosts::HostResults;
use super::model::{ModelResults, Observed};
use super::options::{Options, Simulation};
use super::plan::{self, Case};
use super::site;
use super::stations;
use control::Job;
use wire::ModelWire;

/// Octets of the guest's memory.
const MEMORY: u64 = 256 << 20;
/// Devices of a guest, of which one is the control device.
const MAX_ENDS: usize = lasthop_uml::kernel::MAX_DEVICES - 1;
/// More than any start and end of a guest takes, beside the run itself.
const MARGIN: Duration = Duration::from_secs(60);

/// How long a guest may be silent in real time: on a busy machine, the kernel's verification of the gateway's programs
/// takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The Ethernet address of the device at an end, locally administered.
pub(super) const fn address_of(end: usize) -> [u8; 6] {
    [0x02, 0x6c, 0x68, 0x65, (end >> 8) as u8, end as u8]
}

/// Checks that a scenario can be tried in simulated time.
pub fn check(scenario: &Scenario) -> Result<(), TrialError> {
    if Lan::of(scenario).is_some() {
        let problem = "clients roam, which is not possible in simulated time; expected --time real";
        return Err(TrialError::unsuitable("wlans", problem));
    }
    let ends = site::ends(scenario).count();
    if ends > MAX_ENDS {
        let problem =
            format!("{ends} ends of links between real hosts; expected at most {MAX_ENDS} in simulated time");
        return Err(TrialError::unsuitable("links", problem));
    }
    let edge = plan::edges(scenario)?[0];
    if let Some(label) = gateway::label_that_needs_fates(scenario, edge) {
        let problem = format!(
            "{label:?} needs the fates of frames, which a gateway in simulated time does not learn; leave it out, or use --time real"
        );
        return Err(TrialError::unsuitable("schemes", problem));
    }
    Ok(())
}

/// Runs a case.
pub(super) fn run(
    scenario: &Scenario,
    case: &Case,
    simulation: &Simulation,
    options: Options<'_>,
) -> Result<(HostResults, ModelResults), TrialError> {
    let edges = plan::edges(scenario)?;
    let addresses = site::addresses(scenario);
    let real = RealHosts { gateways: &edges, addresses: &addresses };
    let built = scenario.build_links(&scenario.schemes[case.scheme_index], case.seed, real)?;
    let ends: Vec<Attachment> = site::ends(scenario)
        .enumerate()
        .map(|(index, end)| {
            let (node, peer) = end.of(&built);
            Attachment { node, peer: Peer::Node(peer), address: address_of(index) }
        })
        .collect();
    let stations = stations::list(scenario, &built.wlans);
    let failed = |error: lasthop_uml::Error| TrialError::Guest(error.to_string());
    let settings = Settings { processor: processor(), patience: PATIENCE, ..Settings::default() };
    let kernel = kernel(simulation, case.seed, ends.len());
    let mut calendar = Calendar::start(vec![kernel], settings).map_err(failed)?;
    let model = Stepped::new(built.world, &ends);
    let job = Job {
        directory: simulation.directory.clone(),
        arguments: simulation.arguments.clone(),
        fingerprint: simulation.fingerprint,
        case: plan::cases(scenario).iter().position(|known| known == case).unwrap_or_default(),
        sample_every: options.sample_every,
    };
    let mut wire = ModelWire::new(model, &job, options.stop).map_err(TrialError::Control)?;
    let end = Instant::ZERO + case.times(scenario).end + MARGIN;
    let over = calendar.run(&mut wire, end).map_err(failed)?;
    let (results, mut model) = wire.finish();
    let results = match (results, over) {
        (Some(Ok(results)), _) => results,
        (Some(Err(message)), _) => return Err(TrialError::Guest(message)),
        (None, End::Wire) => return Err(TrialError::Interrupted),
        (None, End::Time | End::Guests) => {
            let console = calendar.console(0).unwrap_or_default();
            let what = if over == End::Time { "has not ended in time" } else { "ended without its results" };
            return Err(TrialError::Guest(format!(
                "it {what}; the end of its console:\n{}",
                console.trim_end()
            )));
        }
    };
    let Observed { stations, reported, .. } = model.with_world(|world| Observed::of(world, stations));
    Ok((results, ModelResults { summary: model.summary(), stations, reported, hand_offs: None }))
}

/// The guest: its control device comes first.
fn kernel(simulation: &Simulation, seed: u64, ends: usize) -> Kernel {
    let mut kernel = Kernel::new(&simulation.kernel, &simulation.program.display().to_string());
    kernel.memory = MEMORY;
    let parameters = [
        // As at a TAP device, a frame counts as sent once the device has it.
        "virtio_net.napi_tx=0",
        // Without one here, the kernel would add it at the end, for the first program.
        "console=tty0",
        // What follows goes to the first program.
        "--",
        simulation.argument,
    ];
    kernel.parameters.extend(parameters.map(str::to_owned));
    kernel.environment.push(("UML_SEED".into(), seed.to_string().into()));
    let addresses = std::iter::once(control::GUEST_DEVICE).chain((0..ends).map(address_of));
    kernel.devices.extend(addresses.map(|address| Box::new(Net::new(address)) as Box<_>));
    kernel
}

/// A number that follows from the octets of a scenario's files, by which a guest finds that they have changed.
pub fn fingerprint(scenario: &Scenario) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for file in &scenario.files {
        fs::read(file)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// The processor of the calling thread's guests: each thread that runs cases takes the next one that this process may use.
/// Processes begin at different ones.
fn processor() -> Option<usize> {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    let allowed = sched_getaffinity(None).ok()?;
    let of_process: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    of_process.get(NUMBER.with(|number| (number + process::id() as usize) % of_process.len().max(1))).copied()
}
