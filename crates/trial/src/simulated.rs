//! A run in simulated time: the hosts are network namespaces of a kernel of their own, which asks this
//! process what time it is, and the model between them is the wire of its network devices. Hosts may be on several kernels,
//! each of which is a guest.
//!
//! This file has the outside of a trial's run; `programs` has that of any programs at the ends of a link.
//!
//! | module | what is in it |
//! |---|---|
//! | [`guest`] | the first program of the guest: it gets its job; [`guest::trial`] and [`guest::programs`] do it |
//! | [`job`] | what the guest is asked for |
//! | [`programs`] | programs at the ends of a link: what they print, read and lead to, outside |
//! | `journeys` | where clients roam |
//! | `stack` | the programs of the kernel's Wi-Fi stack, on the hosts |
//! | `guests` | which hosts are in which guest, where hosts have kernels of their own |
//! | `layout` | the guests' devices, at the ends of the model and for radios |
//! | `kernel` | what a guest is started with |
//! | `conduct` | a run from the guests' start to their reports |
//! | `control` | what guest and host say to each other, over a device of its own |
//! | `task` | who takes what the guest says |
//! | `wire` | the model and the control device, as the guest's wire |
//! | `air` | the kernel's radios in the model's cells |
//!
//! Nothing here needs root: the guest is an ordinary process. The same scenario, seed and kernel give the same
//! packets at the same times.

mod air;
mod conduct;
mod control;
pub mod guest;
mod guests;
pub mod job;
mod journeys;
mod kernel;
mod layout;
pub mod programs;
mod stack;
mod task;
mod wire;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::time::Duration;

use lasthop_emulator::Peer;
use lasthop_emulator::framing::Framing;
use lasthop_emulator::stepped::{Attachment, Stepped};
use lasthop_packet::Instant;
use lasthop_scenario::model::RateControl;
use lasthop_scenario::{BuiltLinks, LinkModel, RealHosts, Scenario, StationHost, WifiStack};
use lasthop_uml::kernel::MAX_DEVICES;

use super::bridged::Lan;
use super::error::TrialError;
use super::gateway;
use super::model::{ModelResults, Observed};
use super::options::{Options, Simulation};
use super::parts::{HostPart, HostResults};
use super::plan::{self, Case};
use super::radios::{self, Radio, Radios, Wifi};
use super::site;
use super::stations;
use air::{Air, Place, Simulated};
use conduct::Over;
use control::Output;
use guests::Guest;
use job::Job;
use kernel::{Parts, address_of};
use layout::Layout;
use task::Task;
use wire::{Between, ModelWire};

/// Octets of the guest's memory.
const MEMORY: u64 = 256 << 20;
/// The key of a crash of gateways.
const CRASH: &str = "try.gateway-crash";
/// More than any start and end of a guest takes, beside the run itself and associations.
const MARGIN: Duration = Duration::from_secs(60);

/// Checks that a scenario can be tried in simulated time.
pub fn check(scenario: &Scenario, wifi: Wifi) -> Result<(), TrialError> {
    if Lan::of(scenario).is_some() && wifi == Wifi::Model {
        let problem = "in simulated time, clients roam with the kernel's Wi-Fi only; expected --wifi kernel, or --time real";
        return Err(TrialError::unsuitable("wlans", problem));
    }
    check_rate_control(scenario, Some(wifi))?;
    let radios = Radios::with(scenario, wifi);
    check_crash(scenario, &radios)?;
    gateway::check_in_simulated_time(scenario, plan::edges(scenario)?[0], &radios, |_| None)?;
    if !radios.of_hosts().is_empty() || !radios.simulated().is_empty() {
        radios::check(scenario)?;
        stack::check()?;
    }
    let ends = site::ends_of_devices(scenario, &radios).count();
    // One device is the control device; all radios have one.
    let most = MAX_DEVICES - 1 - usize::from(!radios.of_hosts().is_empty());
    if ends > most {
        let problem =
            format!("{ends} ends of links between real hosts; expected at most {most} in simulated time");
        return Err(TrialError::unsuitable("links", problem));
    }
    Ok(())
}

/// Checks that the hosts of a scenario can be on these kernels.
pub fn check_kernels(scenario: &Scenario, simulation: &Simulation) -> Result<(), TrialError> {
    guests::check(scenario, simulation)?;
    let radios = Radios::with(scenario, simulation.wifi);
    let series_of = |node| simulation.kernel_of(node).series;
    gateway::check_in_simulated_time(scenario, plan::edges(scenario)?[0], &radios, series_of)
}

/// What the user should know of a scenario's runs in simulated time.
pub fn note(scenario: &Scenario, wifi: Wifi) -> Option<String> {
    let notes: Vec<_> =
        [note_on_repetition(), note_on_stations(scenario, wifi)].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// That runs may differ, if they may.
fn note_on_repetition() -> Option<String> {
    let error = lasthop_uml::repeats().err()?;
    Some(format!(
        "runs may differ in small ways, because this system does not let programs start at fixed addresses (personality(2): \
         {error})"
    ))
}

fn note_on_stations(scenario: &Scenario, wifi: Wifi) -> Option<String> {
    if Radios::with(scenario, wifi).of_hosts().is_empty() {
        return None;
    }
    let rates = match scenario.trial.rate_control {
        RateControl::Fixed => "",
        RateControl::Kernel => "rates and ",
    };
    let saving = if scenario.wlans.iter().any(|cell| cell.power_save.is_some()) {
        "; Linux's stations leave power-save mode for their traffic, and those of the prediction do not"
    } else {
        ""
    };
    Some(format!(
        "stations have the kernel's queues, and mac80211's {rates}number of tries of each frame; the prediction has those of the \
         cell{saving}"
    ))
}

/// Checks that the kernel chooses rates only where stations of cells have its Wi-Fi stack; `None` in real time.
fn check_rate_control(scenario: &Scenario, wifi: Option<Wifi>) -> Result<(), TrialError> {
    let has_radios = wifi.is_some_and(|wifi| !Radios::with(scenario, wifi).of_hosts().is_empty());
    if scenario.trial.rate_control == RateControl::Kernel && !has_radios {
        let problem =
            "no station of a cell has the kernel's Wi-Fi; expected --time simulated, and a cell of 802.11";
        return Err(TrialError::unsuitable("try.rate-control", problem));
    }
    Ok(())
}

/// Checks that all of a gateway is in the process that crashes.
fn check_crash(scenario: &Scenario, radios: &Radios) -> Result<(), TrialError> {
    let is_in_model = |link: &LinkModel| link.link.is_wireless() && !scenario.joins_real_hosts(link);
    let problem = if scenario.trial.gateway_crash.is_none() {
        return Ok(());
    } else if Lan::of(scenario).is_some() {
        "gateways between which clients roam have files in common, and no process of their own; expected none"
    } else if radios.simulated().is_empty() && scenario.links.iter().any(is_in_model) {
        "the gateway's agents for simulated nodes (try.simulated) are in the model, and do not crash; expected none"
    } else {
        return Ok(());
    };
    Err(TrialError::unsuitable(CRASH, problem))
}

/// Refuses what only hosts with a kernel of their own have, for a run in real time.
pub fn check_real_time(scenario: &Scenario) -> Result<(), TrialError> {
    check_rate_control(scenario, None)?;
    if scenario.trial.gateway_crash.is_some() {
        let problem =
            "in real time, gateways have no process of their own; expected --time simulated, or no crash";
        return Err(TrialError::unsuitable(CRASH, problem));
    }
    if !scenario.trial.kernels.is_empty() {
        let problem =
            "in real time, the hosts have this machine's kernel; expected --time simulated, or none";
        return Err(TrialError::unsuitable("try.kernels", problem));
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
    let lan = Lan::of(scenario);
    let radios = Radios::with(scenario, simulation.wifi);
    let addresses = lan.as_ref().map_or_else(|| site::addresses(scenario, &radios), Lan::addresses);
    let wifi = match simulation.wifi {
        Wifi::Kernel => WifiStack::Hosts,
        Wifi::Model => WifiStack::World,
    };
    let real = RealHosts { gateways: &edges, addresses: &addresses, wifi };
    let built = scenario.build_links(&scenario.schemes[case.scheme_index], case.seed, real)?;
    let mut ends = attachments(scenario, &radios, &built);
    ends.extend(attachments_of_stations(&radios, &built));
    let stations = stations::list(scenario, &built.wlans);
    let guests = guests::of(scenario, simulation);
    let layout = layout(scenario, &radios, &guests);
    let kernels = guests.iter().enumerate().map(|(number, guest)| {
        kernel::of(Parts {
            kernel: &guest.kernel.path,
            program: &simulation.guest,
            memory: MEMORY,
            seed: guests::seed(case.seed, number),
            ends: layout.ends_of(number),
            // Those of other guests stay idle: a radio's addresses follow from its number.
            radios: if layout.has_radios(number) { radios.of_hosts().len() } else { 0 },
        })
    });
    let kernels: Vec<_> = kernels.collect();
    let on_air = if radios.of_hosts().is_empty() {
        None
    } else {
        let still = at_rest(scenario.clone());
        let before = still.build_links(&scenario.schemes[case.scheme_index], case.seed, real)?;
        Some(on_air(scenario, &radios, &guests, before))
    };
    let between = Between { model: Stepped::new(built.world, &ends), radios: on_air, layout };
    let number = plan::cases(scenario).iter().position(|known| known == case).unwrap_or_default();
    let job = |guest: &Guest<'_>| {
        Job::Trial(job::Case {
            reading: simulation.reading.clone(),
            number,
            sample_every: options.sample_every,
            wifi: simulation.wifi,
            here: guest.nodes.clone(),
        })
    };
    let jobs: Vec<Job> = guests.iter().map(job).collect();
    let wire = ModelWire::new(between, &jobs, Transfers, options.stop).map_err(TrialError::Control)?;
    let to_associate = stack::PATIENCE * radios.of_hosts().len() as u32;
    let end = Instant::ZERO + case.times(scenario).end + MARGIN + to_associate;
    let names: Vec<&str> = guests.iter().map(|guest| guest.kernel.name.as_str()).collect();
    let Over { reports, mut model, air } = conduct::run(kernels, &names, wire, end)?;
    let results = HostResults::of(scenario, case, reports.ok_or(TrialError::Interrupted)?)?;
    let (now, observed) = model.with_world(|world| (world.now(), Observed::of(world, stations)));
    let Observed { mut stations, reported, silent, .. } = observed;
    if let Some(air) = air {
        // The model does not know which of a radio's frames carry data.
        for (number, radio) in radios.of_hosts().iter().chain(radios.simulated()).enumerate() {
            let cell = &scenario.wlans[radio.cell];
            let name = &scenario.nodes[radio.node].name;
            let of_radio = stations.iter_mut().find(|of| of.wlan == cell.name && of.name == *name);
            if let Some(of_radio) = of_radio {
                air.report_use(number, now, of_radio);
            }
        }
    }
    Ok((results, ModelResults { summary: model.summary(), stations, reported, silent, hand_offs: None }))
}

/// The transfers of a case: their programs neither print nor read.
struct Transfers;

impl Task for Transfers {
    type Report = HostPart;

    fn print(&mut self, _: Output, _: &[u8]) -> Option<Result<HostPart, String>> {
        Some(Err("its first program has sent what no program prints".to_owned()))
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
}

/// The devices of guests that have these hosts.
fn layout(scenario: &Scenario, radios: &Radios, guests: &[Guest<'_>]) -> Layout {
    let ends = site::ends_of_devices(scenario, radios).map(|end| guests::with(guests, end.node));
    let radios = radios.of_hosts().iter().map(|radio| guests::with(guests, radio.node));
    Layout::new(guests.len(), &ends.collect::<Vec<_>>(), &radios.collect::<Vec<_>>())
}

/// The devices of the hosts, each at its end of a model.
fn attachments(scenario: &Scenario, radios: &Radios, built: &BuiltLinks) -> Vec<Attachment> {
    let is_bridged = Lan::of(scenario).is_some();
    let attached = site::ends_of_devices(scenario, radios).enumerate().map(|(index, end)| {
        let (node, peer) = end.of(built);
        let framing = if is_bridged { Framing::BetweenHosts } else { Framing::ToHost(address_of(index)) };
        // Behind a simulated node there may be others.
        let is_simulated = !scenario.joins_real_hosts(&scenario.links[end.link]);
        let peer = if is_simulated { Peer::Addressed } else { Peer::Node(peer) };
        Attachment { node, peer, framing }
    });
    attached.collect()
}

/// The ends of the model at the hosts of simulated stations, in the order of these among the radios.
fn attachments_of_stations(radios: &Radios, built: &BuiltLinks) -> Vec<Attachment> {
    let attachment =
        |of: &StationHost| Attachment { node: of.station, peer: Peer::Node(of.host), framing: Framing::Bare };
    let host_of = |radio: &Radio| built.station_hosts.iter().find(|of| of.node == radio.node);
    radios.simulated().iter().filter_map(host_of).map(attachment).collect()
}

/// A scenario in which nothing moves, and the model's hosts have nothing to say.
fn at_rest(mut scenario: Scenario) -> Scenario {
    scenario.flows.clear();
    scenario.sessions.clear();
    for cell in &mut scenario.wlans {
        (cell.mobility, cell.program) = (None, None);
        cell.paths.clear();
    }
    scenario
}

/// The radios, in the cells of a model in which they associate before the run. Where clients roam, gateways already
/// talk to each other over its cables, and bridges learn where the clients are.
fn on_air(
    scenario: &Scenario,
    radios: &Radios,
    guests: &[Guest<'_>],
    mut before: BuiltLinks,
) -> (Stepped, Air) {
    let ends = if Lan::of(scenario).is_some() { attachments(scenario, radios, &before) } else { Vec::new() };
    let places = radios.of_hosts().iter().map(|radio| {
        let wlan = &before.wlans[radio.cell];
        let model = &scenario.wlans[radio.cell];
        let standard = model.config.phy.standard;
        let dozes = model.power_save.as_ref().is_some_and(|saving| saving.stations.contains(&radio.station));
        let is_tuned = model.roaming.is_some();
        let (station, guest) = (wlan.stations[radio.station], guests::with(guests, radio.node));
        Place { cell: wlan.wlan, station, standard, guest, is_tuned, dozes }
    });
    let places: Vec<_> = places.collect();
    let simulated = radios.simulated().iter().map(|radio| {
        let (cell, model) = (&before.wlans[radio.cell], &scenario.wlans[radio.cell]);
        let (station, standard) = (cell.stations[radio.station], model.config.phy.standard);
        let place = Place { cell: cell.wlan, station, standard, guest: 0, is_tuned: false, dozes: false };
        let address = radio.simulated_address();
        let queue = model.stations[radio.station].config.queue;
        Simulated { place, address, network: radio.network(), rate: model.config.phy.rate, queue }
    });
    let simulated = simulated.collect();
    let air = Air::new(&mut before.world, &places, simulated);
    (Stepped::new(before.world, &ends), air)
}

/// A number that follows from the octets of a scenario's files, by which a guest finds that they have changed.
pub fn fingerprint(scenario: &Scenario) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for file in &scenario.files {
        fs::read(file)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
