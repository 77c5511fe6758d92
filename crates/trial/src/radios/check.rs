//! Which cells the kernel's Wi-Fi stack can have.

use std::ops::RangeInclusive;

use lasthop_scenario::model::{PowerSave, Roaming};
use lasthop_scenario::{Scenario, SchemeChoice, WlanModel};
use lasthop_sim::ess::ClientConfig;
use lasthop_sim::{NodeKind, ServiceSetConfig};
use lasthop_wifi::{MacConfig, PowerSaveConfig, Scheduler, Standard};

use super::bss::{beacon_interval, channel_of, time_units};
use super::has_agent;
use crate::error::TrialError;

/// The beacon intervals of cfg80211, in time units.
const BEACON_INTERVALS: RangeInclusive<u128> = 10..=10_000;
/// The channels of the 2.4 GHz band on which an access point may be anywhere in the world.
const CHANNELS: RangeInclusive<u16> = 1..=11;

/// Checks that the kernel's Wi-Fi stack can be that of a scenario's hosts.
pub(crate) fn check(scenario: &Scenario) -> Result<(), TrialError> {
    for cell in &scenario.wlans {
        let problem = if !matches!(cell.config.phy.standard, Standard::HrDsss | Standard::Erp) {
            "the kernel's radios here are of 802.11b and 802.11g (standard)"
        } else if cell
            .stations
            .iter()
            .any(|station| station.config.rate.is_some_and(|rate| rate != cell.config.phy.rate))
        {
            "the cell has stations of several rates"
        } else if has_retry_limits(cell) {
            "the kernel chooses the number of tries of a frame, and the cell has retry limits of its own"
        } else if cell.power_save.as_ref().is_some_and(has_power_save_of_its_own) {
            "of power-save, the kernel here has only beacon-interval, dtim-period and stations"
        } else if !BEACON_INTERVALS.contains(&time_units(beacon_interval(cell))) {
            "the kernel's access points have beacon intervals from 10 to 10000 time units of 1024 us"
        } else if let Some(problem) = cell.roaming.as_ref().and_then(|roaming| refusal(cell, roaming)) {
            problem
        } else if let Some(problem) = refusal_of_simulated(scenario, cell) {
            problem
        } else if !cell.has_access_point && cell.roaming.is_none() {
            "the cell has no access point"
        } else {
            continue;
        };
        let instead = if cell.roaming.is_some() { "--time real" } else { "--wifi model" };
        let problem = format!("{problem}; change this, or use {instead}");
        return Err(TrialError::unsuitable(format!("wlans.{}", cell.name), problem));
    }
    Ok(())
}

/// What of a cell in which clients roam is beyond the programs of the kernel's Wi-Fi.
fn refusal(cell: &WlanModel, roaming: &Roaming) -> Option<&'static str> {
    let usual = ClientConfig {
        short_interval: roaming.client.short_interval,
        long_interval: roaming.client.long_interval,
        scan_threshold: roaming.client.scan_threshold,
        ..ClientConfig::new(roaming.client.channels.clone())
    };
    let usual_set = ServiceSetConfig {
        sizes: roaming.config.sizes,
        beacon_interval: roaming.config.beacon_interval,
        ..ServiceSetConfig::default()
    };
    if !(0..cell.access_point_count()).all(|station| CHANNELS.contains(&channel_of(cell, station))) {
        Some("the kernel's access points are on channels 1 to 11 (roaming.channels)")
    } else if roaming.steering.is_some() {
        Some("a controller steers its clients, which hostapd does not here")
    } else if [roaming.client.short_interval, roaming.client.long_interval]
        .iter()
        .any(|time| time.subsec_nanos() != 0)
    {
        Some(
            "wpa_supplicant scans at intervals of whole seconds (roaming.short-scan-interval, roaming.long-scan-interval)",
        )
    } else if roaming.client != usual || roaming.config != usual_set {
        Some(
            "wpa_supplicant scans and chooses by rules of its own: of roaming's keys for that, it has only scan-threshold, \
             short-scan-interval and long-scan-interval",
        )
    } else {
        None
    }
}

/// What of a cell with simulated stations is beyond them, where the kernel has the access point.
fn refusal_of_simulated(scenario: &Scenario, cell: &WlanModel) -> Option<&'static str> {
    let mut simulated = cell
        .stations
        .iter()
        .enumerate()
        .filter(|(_, station)| scenario.trial.simulated.contains(&station.node));
    let saves =
        |station: usize| cell.power_save.as_ref().is_some_and(|saving| saving.stations.contains(&station));
    let mut stacks = scenario.schemes.iter().filter_map(SchemeChoice::stack);
    simulated.find_map(|(number, station)| {
        if number < cell.access_point_count() {
            Some("its access point is simulated")
        } else if scenario.nodes[station.node].kind != NodeKind::Host {
            Some("a simulated station is a router")
        } else if station.config.scheduler != Scheduler::Fifo {
            Some("a simulated station has a scheduler, and its queue here is first in, first out")
        } else if saves(number) {
            Some("a simulated station saves power")
        } else if stacks.any(|stack| has_agent(scenario, stack, station.node)) {
            Some("a scheme has agents at simulated stations, where nothing tells them what became of frames")
        } else {
            None
        }
    })
}

/// Whether stations save power in other ways than the kernel's.
fn has_power_save_of_its_own(saving: &PowerSave) -> bool {
    let PowerSaveConfig { beacon_interval, dtim_period, first_beacon, .. } = saving.config;
    saving.config
        != PowerSaveConfig { beacon_interval, dtim_period, first_beacon, ..PowerSaveConfig::default() }
}

fn has_retry_limits(cell: &WlanModel) -> bool {
    let (mac, usual) = (&cell.config.mac, MacConfig::default());
    (mac.short_retry_limit, mac.long_retry_limit) != (usual.short_retry_limit, usual.long_retry_limit)
        || cell.stations.iter().any(|station| station.config.short_retry_limit.is_some())
}
