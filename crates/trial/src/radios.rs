//! Radios of hosts. Where the hosts' kernel has the whole Wi-Fi stack, each station of a cell is a radio of the kernel, and
//! all links of the cell at a host lead through the device of its radio.
//!
//! | module | what is in it |
//! |---|---|
//! | [`bss`] | channels and beacons of a cell, as the kernel has them |
//! | `check` | which cells the kernel's Wi-Fi stack can have |

pub(super) mod bss;
mod check;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use lasthop_scenario::{LinkModel, Scenario, SchemeChoice};
use lasthop_schemes::{Placement as _, SchemeStack, Seat};
use serde::{Deserialize, Serialize};

pub(super) use check::check;

/// Whose Wi-Fi stack the stations of cells have in simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wifi {
    /// That of the hosts' kernel, with hostapd and `wpa_supplicant`; the model has the distributed coordination function and
    /// the air.
    #[default]
    Kernel,
    /// That of the model: the hosts have wired devices.
    Model,
}

/// The radios of a trial.
#[derive(Clone, Debug, Default)]
pub struct Radios {
    of_hosts: Vec<Radio>,
    simulated: Vec<Radio>,
}

/// Of hosts whose Wi-Fi stack the model has.
pub(super) static NO_RADIOS: Radios = Radios::none();

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
    /// The MAC address of a simulated station, locally administered.
    pub(super) const fn simulated_address(self) -> [u8; 6] {
        [0x02, 0x6c, 0x68, 0x73, self.cell as u8, self.station as u8]
    }

    /// The name of its network.
    pub(super) fn network(self) -> String {
        format!("lasthop-{}", self.cell)
    }

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
        Self { of_hosts: Vec::new(), simulated: Vec::new() }
    }

    /// A radio for each station of each cell. That of a client is on an adapter if one of the schemes has an agent there.
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
        let is_simulated = |radio: &Radio| scenario.trial.simulated.contains(&radio.node);
        let (simulated, of_hosts) = stations.partition(is_simulated);
        Self { of_hosts, simulated }
    }

    /// Those of a trial, whose hosts have this Wi-Fi stack.
    pub(super) fn with(scenario: &Scenario, wifi: Wifi) -> Self {
        match wifi {
            Wifi::Kernel => Self::of_kernel(scenario),
            Wifi::Model => Self::none(),
        }
    }

    /// Those of the hosts' kernel, in the order of cells and stations.
    pub(super) fn of_hosts(&self) -> &[Radio] {
        &self.of_hosts
    }

    /// Those of simulated stations beside them, in the same order.
    pub(super) fn simulated(&self) -> &[Radio] {
        &self.simulated
    }

    /// The radio through which a link leads at a node; `None` if it leads through a device of its own.
    pub(super) fn of(&self, link: &LinkModel, node: usize) -> Option<Radio> {
        self.of_hosts.iter().copied().find(|radio| radio.node == node && link.link.is_of_cell(radio.cell))
    }
}

/// Whether these schemes have an agent at a node.
pub(super) fn has_agent(scenario: &Scenario, stack: &SchemeStack, node: usize) -> bool {
    stack.agent(Seat::any(scenario.role(node))).is_some()
}
