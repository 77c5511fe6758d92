//! A run in simulated time: the hosts are network namespaces of a kernel of their own, which asks this
//! process what time it is, and the model between them is the wire of its network devices.
//!
//! | module | what is in it |
//! |---|---|
//! | [`guest`] | the first program of the guest: it sets the hosts up, runs their part, and reports it |
//! | `stack` | the programs of the kernel's Wi-Fi stack, on the hosts |
//! | `control` | what guest and host say to each other, over a device of its own |
//! | `wire` | the model and the control device, as the guest's wire |
//! | `air` | the kernel's radios in the model's cells |
//!
//! Nothing here needs root: the guest is an ordinary process. The same scenario, seed and kernel give the same
//! packets at the same times.

mod air;
mod control;
pub mod guest;
mod stack;
mod wire;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lasthop_emulator::Peer;
use lasthop_emulator::stepped::{Attachment, Stepped};
use lasthop_kernels::recipe::{AIR_TIME_PARAMETER, SEED_VARIABLE};
use lasthop_packet::Instant;
use lasthop_scenario::{BuiltLinks, RealHosts, Scenario};
use lasthop_uml::kernel::MAX_DEVICES;
use lasthop_uml::vhost::DeviceType;
use lasthop_uml::{Calendar, End, Hwsim, Kernel, Net, Settings};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::bridged::Lan;
use super::error::TrialError;
use super::gateway;
use super::hosts::HostResults;
use super::model::{ModelResults, Observed};
use super::options::{Options, Simulation, Wifi};
use super::plan::{self, Case};
use super::radios::{self, Radios};
use super::site;
use super::stations;
use air::{Air, Place};
use control::Job;
use wire::{Between, Finished, ModelWire};

/// Octets of the guest's memory.
const MEMORY: u64 = 256 << 20;
/// More than any start and end of a guest takes, beside the run itself and associations.
const MARGIN: Duration = Duration::from_secs(60);

/// How long a guest may be silent in real time: on a busy machine, the kernel's verification of the gateway's programs
/// takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The Ethernet address of the device at an end, locally administered.
pub(super) const fn address_of(end: usize) -> [u8; 6] {
    [0x02, 0x6c, 0x68, 0x65, (end >> 8) as u8, end as u8]
}

/// The radios of the hosts' kernel.
fn radios(scenario: &Scenario, wifi: Wifi) -> Radios {
    match wifi {
        Wifi::Kernel => Radios::of_kernel(scenario),
        Wifi::Model => Radios::none(),
    }
}

/// Checks that a scenario can be tried in simulated time.
pub fn check(scenario: &Scenario, wifi: Wifi) -> Result<(), TrialError> {
    if Lan::of(scenario).is_some() {
        let problem = "clients roam, which is not possible in simulated time; expected --time real";
        return Err(TrialError::unsuitable("wlans", problem));
    }
    let radios = radios(scenario, wifi);
    gateway::check_in_simulated_time(scenario, plan::edges(scenario)?[0], &radios)?;
    if !radios.all().is_empty() {
        radios::check(scenario)?;
        stack::check()?;
    }
    let ends = site::ends_of_devices(scenario, &radios).count();
    // One device is the control device; all radios have one.
    let most = MAX_DEVICES - 1 - usize::from(!radios.all().is_empty());
    if ends > most {
        let problem =
            format!("{ends} ends of links between real hosts; expected at most {most} in simulated time");
        return Err(TrialError::unsuitable("links", problem));
    }
    Ok(())
}

/// What the user should know of a scenario's runs in simulated time.
pub fn note(scenario: &Scenario, wifi: Wifi) -> Option<&'static str> {
    let has_radios = !radios(scenario, wifi).all().is_empty();
    has_radios.then_some(
        "stations have the kernel's queues, and mac80211's number of tries of each frame; the prediction has those of the cell",
    )
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
    let build = || scenario.build_links(&scenario.schemes[case.scheme_index], case.seed, real);
    let built = build()?;
    let radios = radios(scenario, simulation.wifi);
    let ends: Vec<Attachment> = site::ends_of_devices(scenario, &radios)
        .enumerate()
        .map(|(index, end)| {
            let (node, peer) = end.of(&built);
            Attachment { node, peer: Peer::Node(peer), address: address_of(index) }
        })
        .collect();
    let stations = stations::list(scenario, &built.wlans);
    let failed = |error: lasthop_uml::Error| TrialError::Guest(error.to_string());
    let settings = Settings { processor: processor(), patience: PATIENCE, ..Settings::default() };
    let kernel = kernel(simulation, case.seed, ends.len(), &radios);
    let on_air = if radios.all().is_empty() { None } else { Some(on_air(scenario, &radios, build()?)) };
    let mut calendar = Calendar::start(vec![kernel], settings).map_err(failed)?;
    let between = Between { model: Stepped::new(built.world, &ends), radios: on_air, ends: ends.len() };
    let job = Job {
        directory: simulation.guest.directory.clone(),
        arguments: simulation.guest.arguments.clone(),
        fingerprint: simulation.guest.fingerprint,
        case: plan::cases(scenario).iter().position(|known| known == case).unwrap_or_default(),
        sample_every: options.sample_every,
        wifi: simulation.wifi,
    };
    let mut wire = ModelWire::new(between, &job, options.stop).map_err(TrialError::Control)?;
    let to_associate = stack::PATIENCE * radios.all().len() as u32;
    let end = Instant::ZERO + case.times(scenario).end + MARGIN + to_associate;
    let over = calendar.run(&mut wire, end).map_err(failed)?;
    let Finished { results, model, air } = wire.finish();
    let (results, mut model) = match (results, model, over) {
        (Some(Ok(results)), Some(model), _) => (results, model),
        (Some(Err(message)), ..) => return Err(TrialError::Guest(message)),
        (None, _, End::Wire) => return Err(TrialError::Interrupted),
        (_, _, over) => {
            let console = calendar.console(0).unwrap_or_default();
            let what = if over == End::Time { "has not ended in time" } else { "ended without its results" };
            return Err(TrialError::Guest(format!(
                "it {what}; the end of its console:\n{}",
                console.trim_end()
            )));
        }
    };
    let Observed { mut stations, reported, .. } = model.with_world(|world| Observed::of(world, stations));
    if let Some(air) = air {
        // The model does not know which of a radio's frames carry data.
        for (number, radio) in radios.all().iter().enumerate() {
            let cell = &scenario.wlans[radio.cell];
            let name = &scenario.nodes[radio.node].name;
            let of_radio = stations.iter_mut().find(|of| of.wlan == cell.name && of.name == *name);
            if let Some(of_radio) = of_radio {
                air.report_use(number, of_radio);
            }
        }
    }
    Ok((results, ModelResults { summary: model.summary(), stations, reported, hand_offs: None }))
}

/// The radios, in the cells of a model in which they associate before the run.
fn on_air(scenario: &Scenario, radios: &Radios, mut before: BuiltLinks) -> (Stepped, Air) {
    let places = radios.all().iter().map(|radio| {
        let wlan = &before.wlans[radio.cell];
        let standard = scenario.wlans[radio.cell].config.phy.standard;
        Place { cell: wlan.wlan, station: wlan.stations[radio.station], standard }
    });
    let places: Vec<_> = places.collect();
    let air = Air::new(&mut before.world, &places);
    (Stepped::new(before.world, &[]), air)
}

/// The guest: its control device comes first, the device of its radios last.
fn kernel(simulation: &Simulation, seed: u64, ends: usize, radios: &Radios) -> Kernel {
    let mut kernel = Kernel::new(&simulation.kernel, &simulation.guest.path.display().to_string());
    kernel.memory = MEMORY;
    let count = radios.all().len();
    let of_radios = [format!("mac80211_hwsim.radios={count}"), format!("{AIR_TIME_PARAMETER}=1")];
    kernel.parameters.extend(of_radios.into_iter().filter(|_| count > 0));
    let parameters = [
        // As at a TAP device, a frame counts as sent once the device has it.
        "virtio_net.napi_tx=0",
        // Without one here, the kernel would add it at the end, for the first program.
        "console=tty0",
        // What follows goes to the first program.
        "--",
        simulation.guest.argument,
    ];
    kernel.parameters.extend(parameters.map(str::to_owned));
    kernel.environment.push((SEED_VARIABLE.into(), seed.to_string().into()));
    let addresses = std::iter::once(control::GUEST_DEVICE).chain((0..ends).map(address_of));
    kernel.devices.extend(addresses.map(|address| Box::new(Net::new(address)) as Box<dyn DeviceType>));
    if count > 0 {
        kernel.devices.push(Box::new(Hwsim));
    }
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
