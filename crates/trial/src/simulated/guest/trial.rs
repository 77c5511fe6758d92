//! The part of the hosts in a run of a trial, inside the guest.

use std::io;

use lasthop_linux::clock;
use lasthop_scenario::Scenario;

use super::super::control::FromGuest;
use super::super::job::Case as Wanted;
use super::super::kernel::address_of;
use super::super::{fingerprint, stack};
use super::{Guest, device_with, gateway, limits};
use crate::bridged::Lan;
use crate::error::TrialError;
use crate::gateway::Clock;
use crate::here::Here;
use crate::hosts::Hosts;
use crate::options::Options;
use crate::parts::HostPart;
use crate::plan::{self, Case};
use crate::radios::Radios;
use crate::site::{self, Site};

/// The command line by which the process outside has read the scenario, without the program and the subcommand.
pub fn arguments(wanted: &Wanted) -> &[String] {
    &wanted.reading.arguments
}

/// The case of the run; `None` if the scenario's files have changed since the process outside has read them.
pub fn case(wanted: &Wanted, scenario: &Scenario) -> Option<Case> {
    let is_same = fingerprint(scenario).ok()? == wanted.reading.fingerprint;
    plan::cases(scenario).into_iter().nth(wanted.number).filter(|_| is_same)
}

/// Runs the part of the hosts in a case, and reports it.
pub fn run(
    guest: &Guest,
    wanted: &Wanted,
    scenario: &Scenario,
    case: &Case,
    options: Options<'_>,
) -> io::Result<()> {
    let options = Options { sample_every: wanted.sample_every, ..options };
    let report = match run_hosts(guest, wanted, scenario, case, options) {
        Ok(results) => FromGuest::Done(Box::new(results)),
        Err(error) => FromGuest::Failed(error.to_string()),
    };
    guest.outside.say(&report)
}

/// What is missing in a guest's kernel cannot be added there.
fn of_guest(error: TrialError) -> TrialError {
    match error {
        TrialError::Congestion { name, .. } => {
            let known = plan::available_congestion_controls().unwrap_or_default().join(" ");
            TrialError::GuestCongestion { name, known }
        }
        other => other,
    }
}

fn run_hosts(
    guest: &Guest,
    wanted: &Wanted,
    scenario: &Scenario,
    case: &Case,
    options: Options<'_>,
) -> Result<HostPart, TrialError> {
    plan::check_kernel(scenario).map_err(of_guest)?;
    let radios = Radios::with(scenario, wanted.wifi);
    let lan = Lan::of(scenario);
    let addresses = lan.as_ref().map_or_else(|| site::addresses(scenario, &radios), Lan::addresses);
    let site = Site::with_radios(scenario, addresses, radios, wanted.here.clone())?;
    site.adopt(scenario, |end| device_with(address_of(end)))?;
    stack::adopt(&site)?;
    limits::set(&site.hosts).map_err(TrialError::Namespace)?;
    // hostapd finds the bridges; routes over a radio need it to be up.
    if let Some(lan) = &lan {
        lan.configure(&site)?;
    }
    let journeys = stack::associate(scenario, &site)?;
    if lan.is_none() {
        site.configure(scenario)?;
    }
    if scenario.trial.gateway_crash.is_some() {
        gateway::leave(wanted)?;
    }
    let mut hosts = Hosts::start(scenario, case, &site, None, Clock::Simulated, options)?;
    if let (Some(lan), Some(journeys)) = (&lan, &journeys)
        && let Some(told) = hosts.gateways().follow(lan.client_addresses())?
    {
        journeys.tell(&told);
    }
    let is_alone = wanted.here == Here::All;
    let outside = &guest.outside;
    let ready = FromGuest::<HostPart>::Ready;
    let said = if is_alone { outside.say(&ready) } else { outside.say_together(&ready) };
    said.map_err(|error| TrialError::Transfer { what: "the control device".to_owned(), error })?;
    let zero = clock::now();
    let all_over = || if is_alone { Ok(()) } else { outside.say_together(&FromGuest::<HostPart>::Over) };
    let mut results = hosts.run(zero, &all_over, options)?;
    if let (Some(lan), Some(journeys)) = (&lan, &journeys) {
        journeys.be_silent();
        let served = hosts.gateways().served()?;
        let names =
            |nodes: Vec<usize>| nodes.into_iter().map(|node| &*scenario.nodes[node].name).collect::<Vec<_>>();
        let (clients, access_points) = (names(lan.clients().collect()), names(lan.access_points()));
        results.hand_offs = Some(journeys.hand_offs(zero, (&clients, &access_points), served.as_deref()));
    }
    Ok(results)
}
