//! A run on this machine, in real time: each host is a network namespace, and the model between them keeps up with the
//! clock on a thread of its own.

use std::io;

use lasthop_emulator::{self as emulator, Emulator};
use lasthop_gateway::plan::AgentMaker;
use lasthop_linux::clock;
use lasthop_scenario::{RealHosts, Scenario, WifiStack};

use super::bridged::Lan;
use super::error::TrialError;
use super::gateway::{self, Clock};
use super::hosts::Hosts;
use super::model::{ModelResults, Observed};
use super::options::Options;
use super::parts::HostResults;
use super::plan::{self, Case};
use super::radios::NO_RADIOS;
use super::site::{self, Site};
use super::stations;

/// Runs a case: creates its hosts and the links between them, and removes them afterwards.
pub(super) fn run(
    scenario: &Scenario,
    case: &Case,
    agent: Option<&AgentMaker>,
    options: Options<'_>,
) -> Result<(HostResults, ModelResults), TrialError> {
    let lan = Lan::of(scenario);
    let edges = plan::edges(scenario)?;
    let scheme = &scenario.schemes[case.scheme_index];
    let addresses = lan.as_ref().map_or_else(|| site::addresses(scenario, &NO_RADIOS), Lan::addresses);
    let site = Site::new(scenario, addresses)?;
    let real = RealHosts { gateways: &edges, addresses: &site.addresses, wifi: WifiStack::World };
    let built = scenario.build_links(scheme, case.seed, real)?;
    let ends = match &lan {
        Some(lan) => lan.attach(&site, &built)?,
        None => site.attach(scenario, &built)?,
    };
    match &lan {
        Some(lan) => lan.configure(&site)?,
        None => site.configure(scenario)?,
    }
    // Started before the emulator's clock, because the kernel verifies the gateway's programs
    // without a break, for 20 ms and more.
    let mut hosts = Hosts::start(scenario, case, &site, agent, Clock::Real, options)?;
    let roaming = lan.as_ref().map(|lan| (lan.stations(&built), lan.client_addresses()));
    let transmitters = gateway::transmitters(scenario, edges[0], &built);
    let stations = stations::list(scenario, &built.wlans);
    let mut emulator = Emulator::new(built.world, ends);
    hosts.gateways().connect(&mut emulator, roaming.clone(), transmitters)?;
    let failed = |error| TrialError::Transfer { what: "the emulator".to_owned(), error };
    let running = emulator.spawn(emulator::Options::default()).map_err(failed)?;

    let part = hosts.run(clock::now(), &|| Ok(()), options)?;
    let results = HostResults::of(scenario, case, vec![part])?;
    let observed = running.with_world(move |world| Observed::of(world, stations));
    let Observed { stations, reported, silent, ways } =
        observed.map_err(|gone| failed(io::Error::other(gone)))?;
    // The emulator's clock stops first, for the same reason; the gateways then only lose their
    // interfaces.
    let summary = running.stop().map_err(failed)?;
    let ways = match (hosts.gateways().served()?, roaming) {
        (Some(served), Some((stations, _))) => ways.with_gateways(&stations, &served),
        _ => ways,
    };
    let hand_offs = lan.is_some().then(|| ways.hand_offs());
    Ok((results, ModelResults { summary, stations, reported, silent, hand_offs }))
}
