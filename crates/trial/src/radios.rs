//! Radios of hosts. Where the hosts' kernel has the whole Wi-Fi stack, each station of a cell is a radio of the kernel, and
//! all links of the cell at a host lead through the device of its radio.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use lasthop_scenario::model::{PowerSave, Roaming};
use lasthop_scenario::{LinkModel, Scenario, SchemeChoice, WlanModel};
use lasthop_schemes::{Placement as _, SchemeStack, Seat};
use lasthop_sim::ServiceSetConfig;
use lasthop_sim::ess::ClientConfig;
use lasthop_wifi::{Channel, MacConfig, PowerSaveConfig, Standard};

use super::error::TrialError;

/// The radios of a trial's hosts.
#[derive(Clone, Debug, Default)]
pub struct Radios(Vec<Radio>);

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Radio {
    /// The index of its cell.
    pub(super) cell: usize,
    /// Its index in the cell, in which access points come first.
    pub(super) station: usize,
    /// The index of its node.
    pub(super) node: usize,
    /// Whether it is the access point, or one of those of a cell in which clients roam.
    pub(super) is_access_point: bool,
    /// Whether it is on a host of its own, where agents of its node run.
    pub(super) on_adapter: bool,
}

impl Radio {
    /// The name of its device.
    pub(super) fn device(self) -> String {
        device_of(self.cell)
    }

    /// The folder of the control socket of its hostapd, in the guest.
    pub(super) fn hostapd_folder(self) -> PathBuf {
        format!("{GUEST_FOLDER}/hostapd-{}-{}", self.cell, self.station).into()
    }

    /// The control socket of its hostapd, in the guest.
    pub(super) fn hostapd_socket(self) -> PathBuf {
        self.hostapd_folder().join(self.device())
    }
}

/// Where programs of a guest may write.
pub(super) const GUEST_FOLDER: &str = "/run";

/// The name of a host's wireless device in a cell. Names of links, and so of other devices, have no dots.
pub(super) fn device_of(cell: usize) -> String {
    format!("wlan.{cell}")
}

impl Radios {
    /// No radios: the model has the Wi-Fi stack.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// A radio for each station of each cell whose node is a real host. That of a client is on an adapter if one of the
    /// schemes has an agent there.
    pub(super) fn of_kernel(scenario: &Scenario) -> Self {
        let has_agent = |node| {
            let mut stacks = scenario.schemes.iter().filter_map(SchemeChoice::stack);
            stacks.any(|stack| has_agent(scenario, stack, node))
        };
        let stations = scenario.wlans.iter().enumerate().flat_map(|(cell, model)| {
            let stations = model.stations.iter().enumerate();
            let access_points = model.access_point_count();
            stations.map(move |(station, of)| Radio {
                cell,
                station,
                node: of.node,
                is_access_point: station < access_points,
                on_adapter: station >= access_points && has_agent(of.node),
            })
        });
        Self(stations.filter(|radio| !scenario.trial.simulated.contains(&radio.node)).collect())
    }

    /// All of them, in the order of cells and stations.
    pub(super) fn all(&self) -> &[Radio] {
        &self.0
    }

    /// The radio through which a link leads at a node; `None` if it leads through a device of its own.
    pub(super) fn of(&self, link: &LinkModel, node: usize) -> Option<Radio> {
        self.0.iter().copied().find(|radio| radio.node == node && link.link.is_of_cell(radio.cell))
    }
}

/// Checks that the kernel's Wi-Fi stack can be that of a scenario's hosts.
pub(super) fn check(scenario: &Scenario) -> Result<(), TrialError> {
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
        } else if cell.stations.iter().any(|station| scenario.trial.simulated.contains(&station.node)) {
            "frames for its simulated stations would bypass the kernel's queues"
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
    // On which an access point may be anywhere in the world.
    if !(0..cell.access_point_count()).all(|station| (1..=11).contains(&channel_of(cell, station))) {
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

/// Whether stations save power in other ways than the kernel's.
fn has_power_save_of_its_own(saving: &PowerSave) -> bool {
    let PowerSaveConfig { beacon_interval, dtim_period, first_beacon, .. } = saving.config;
    saving.config
        != PowerSaveConfig { beacon_interval, dtim_period, first_beacon, ..PowerSaveConfig::default() }
}

/// The beacon intervals of cfg80211, in time units.
const BEACON_INTERVALS: RangeInclusive<u128> = 10..=10_000;

/// The beacon interval of a cell's access points.
pub(super) fn beacon_interval(cell: &WlanModel) -> Duration {
    let of_roaming = cell.roaming.as_ref().map(|roaming| roaming.config.beacon_interval);
    let of_power_save = cell.power_save.as_ref().map(|saving| saving.config.beacon_interval);
    of_roaming.or(of_power_save).unwrap_or(PowerSaveConfig::default().beacon_interval)
}

/// A time in whole time units.
pub(super) const fn time_units(time: Duration) -> u128 {
    time.as_nanos() / PowerSaveConfig::TIME_UNIT.as_nanos()
}

/// The channel of a station. In the model, all stations may be on a channel without a number.
pub(super) fn channel_of(cell: &WlanModel, station: usize) -> u16 {
    cell.stations[station].config.channel.map_or(1, |channel| channel.0.max(1))
}

/// The frequency of a channel of the 2.4 GHz band, in MHz (IEEE 802.11-2020, 15.4.4.3).
pub(super) const fn mhz_of(channel: u16) -> u16 {
    2407 + 5 * channel
}

/// The channel at a frequency of that band.
pub(super) const fn channel_at(mhz: u32) -> Channel {
    Channel((mhz.saturating_sub(2407) / 5) as u16)
}

fn has_retry_limits(cell: &WlanModel) -> bool {
    let (mac, usual) = (&cell.config.mac, MacConfig::default());
    (mac.short_retry_limit, mac.long_retry_limit) != (usual.short_retry_limit, usual.long_retry_limit)
        || cell.stations.iter().any(|station| station.config.short_retry_limit.is_some())
}

/// Whether these schemes have an agent at a node.
pub(super) fn has_agent(scenario: &Scenario, stack: &SchemeStack, node: usize) -> bool {
    stack.agent(Seat::any(scenario.role(node))).is_some()
}
