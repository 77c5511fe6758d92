//! Which cells the kernel's Wi-Fi stack can have.

use std::ops::RangeInclusive;

use lasthop_scenario::model::WlanStation;
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
        let of_simulated = || refusal_of_simulated(scenario, cell);
        let Some(problem) = refusal_of_cell(cell).map(str::to_owned).or_else(of_simulated) else { continue };
        let instead = if cell.roaming.is_some() { "--time real" } else { "--wifi model" };
        let problem = format!("{problem}; change this, or use {instead}");
        return Err(TrialError::unsuitable(format!("wlans.{}", cell.name), problem));
    }
    Ok(())
}

/// What of a cell is beyond the kernel's Wi-Fi.
fn refusal_of_cell(cell: &WlanModel) -> Option<&'static str> {
    let is_of_another_rate =
        |station: &WlanStation| station.config.rate.is_some_and(|rate| rate != cell.config.phy.rate);
    if !matches!(cell.config.phy.standard, Standard::HrDsss | Standard::Erp) {
        Some("the kernel's radios here are of 802.11b and 802.11g (standard)")
    } else if cell.stations.iter().any(is_of_another_rate) {
        Some("the cell has stations of several rates")
    } else if has_retry_limits(cell) {
        Some("the kernel chooses the number of tries of a frame, and the cell has retry limits of its own")
    } else if cell.power_save.as_ref().is_some_and(has_power_save_of_its_own) {
        Some("of power-save, the kernel here has only beacon-interval, dtim-period and stations")
    } else if !BEACON_INTERVALS.contains(&time_units(beacon_interval(cell))) {
        Some("the kernel's access points have beacon intervals from 10 to 10000 time units of 1024 us")
    } else if !cell.has_access_point && cell.roaming.is_none() {
        Some("the cell has no access point")
    } else {
        cell.roaming.as_ref().and_then(|roaming| refusal(cell, roaming))
    }
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
fn refusal_of_simulated(scenario: &Scenario, cell: &WlanModel) -> Option<String> {
    let mut simulated = cell
        .stations
        .iter()
        .enumerate()
        .filter(|(_, station)| scenario.trial.simulated.contains(&station.node));
    let saves =
        |station: usize| cell.power_save.as_ref().is_some_and(|saving| saving.stations.contains(&station));
    simulated.find_map(|(number, station)| {
        let name = &scenario.nodes[station.node].name;
        let is_there = |choice: &&SchemeChoice| {
            choice.stack().is_some_and(|stack| has_agent(scenario, stack, station.node))
        };
        if number < cell.access_point_count() {
            Some(format!("its access point {name:?} is simulated"))
        } else if scenario.wlans.iter().flat_map(|cell| &cell.stations).filter(|it| it.node == station.node).count() > 1 {
            Some(format!("the simulated station {name:?} is in another cell as well"))
        } else if scenario.nodes[station.node].kind != NodeKind::Host {
            Some(format!("the simulated station {name:?} is a router"))
        } else if station.config.scheduler != Scheduler::Fifo {
            Some(format!(
                "the simulated station {name:?} has a scheduler, and its queue here is first in, first out"
            ))
        } else if saves(number) {
            Some(format!("the simulated station {name:?} saves power"))
        } else {
            scenario.schemes.iter().find(is_there).map(|choice| {
                format!(
                    "{:?} has an agent at the simulated station {name:?}, which does not learn what became of frames: leave the \
                     scheme out (--schemes)",
                    choice.label
                )
            })
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
    let (mac, usual) = (&cell.config.mac, MacConfig::new(cell.config.phy.standard));
    (mac.short_retry_limit, mac.long_retry_limit) != (usual.short_retry_limit, usual.long_retry_limit)
        || cell.stations.iter().any(|station| station.config.short_retry_limit.is_some())
}
