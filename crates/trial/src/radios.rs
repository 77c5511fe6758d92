//! Radios of hosts. Where the hosts' kernel has the whole Wi-Fi stack, each station of a cell is a radio of the kernel, and
//! all links of the cell at a host lead through the device of its radio.

use lasthop_scenario::model::Link;
use lasthop_scenario::{LinkModel, Scenario, WlanModel};
use lasthop_wifi::Standard;

use super::error::TrialError;

/// The radios of a trial's hosts.
#[derive(Clone, Debug, Default)]
pub struct Radios(Vec<Radio>);

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Radio {
    /// The index of its cell.
    pub(super) cell: usize,
    /// Its index in the cell. That of the access point is 0.
    pub(super) station: usize,
    /// The index of its node.
    pub(super) node: usize,
}

impl Radio {
    /// The name of its device. Names of links, and so of other devices, have no dots.
    pub(super) fn device(self) -> String {
        format!("wlan.{}", self.cell)
    }
}

impl Radios {
    /// No radios: the model has the Wi-Fi stack.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// A radio for each station of each cell whose node is a real host.
    pub(super) fn of_kernel(scenario: &Scenario) -> Self {
        let stations = scenario.wlans.iter().enumerate().flat_map(|(cell, model)| {
            let stations = model.stations.iter().enumerate();
            stations.map(move |(station, of)| Radio { cell, station, node: of.node })
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
    for (index, cell) in scenario.wlans.iter().enumerate() {
        let problem = if !matches!(cell.config.phy.standard, Standard::HrDsss | Standard::Erp) {
            "the kernel's radios here are of 802.11b and 802.11g"
        } else if cell
            .stations
            .iter()
            .any(|station| station.config.rate.is_some_and(|rate| rate != cell.config.phy.rate))
        {
            "the cell has stations of several rates"
        } else if cell.power_save.is_some() {
            "stations of the model save power"
        } else if !is_around_its_access_point(scenario, (index, cell)) {
            "the cell has no access point, or a simulated one"
        } else {
            continue;
        };
        let problem = format!("{problem}; expected --wifi model");
        return Err(TrialError::unsuitable(format!("wlans.{}", cell.name), problem));
    }
    Ok(())
}

/// Whether each of a cell's links between real hosts ends at its first station.
fn is_around_its_access_point(scenario: &Scenario, (index, cell): (usize, &WlanModel)) -> bool {
    let Some(first) = cell.stations.first() else { return false };
    let mut links = scenario.links.iter().filter(|link| link.link.is_of_cell(index));
    !scenario.trial.simulated.contains(&first.node)
        && links.all(|LinkModel { ends, link, .. }| {
            matches!(link, Link::Radio { .. }) && (ends.0 == first.node || ends.1 == first.node)
        })
}
