//! The hosts of a scenario in which clients roam: one bridged network, in which a client has the same
//! address everywhere. Routers are Linux bridges, access points among them; the wireless interface of a
//! station leads into the model of its cell. The model of a cable carries packets, and the frames are
//! made again at its ends, because Ethernet addresses follow from those of hosts.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr};

use lasthop_emulator::ethernet_address;
use lasthop_emulator::{self as emulator, Device, Peer};
use lasthop_gateway::frame::MacAddress;
use lasthop_scenario::model::Roaming;
use lasthop_scenario::{BuiltLinks, Scenario, WlanModel};
use lasthop_sim::NodeKind;

use super::error::TrialError;
use super::radios;
use super::radios::NO_RADIOS;
use super::roaming::Stations;
use super::site::{End, Site, device_name, ends};

/// The bridge of a router. Names of links, and so of their devices, have no dots.
pub(super) const BRIDGE: &str = "lan.0";

/// The cell of a scenario in which clients roam.
#[derive(Clone, Copy)]
pub(super) struct Lan<'a> {
    scenario: &'a Scenario,
    cell: usize,
    roaming: &'a Roaming,
}

impl<'a> Lan<'a> {
    /// The first cell in which clients roam; `None` without one.
    pub(super) fn of(scenario: &'a Scenario) -> Option<Self> {
        let mut cells = scenario.wlans.iter().enumerate();
        cells.find_map(|(cell, model)| Some(Self { scenario, cell, roaming: model.roaming.as_ref()? }))
    }

    fn model(&self) -> &'a WlanModel {
        &self.scenario.wlans[self.cell]
    }

    /// The nodes that are access points.
    pub(super) fn access_points(&self) -> Vec<usize> {
        self.model().access_points().collect()
    }

    /// The index of the cell.
    pub(super) const fn cell(&self) -> usize {
        self.cell
    }

    /// The nodes that are clients.
    pub(super) fn clients(&self) -> impl Iterator<Item = usize> + '_ {
        self.model().stations[self.roaming.access_points..].iter().map(|client| client.node)
    }

    /// The Ethernet addresses of the clients.
    pub(super) fn client_addresses(&self) -> Vec<MacAddress> {
        self.clients().map(hardware_address).collect()
    }

    /// The number of the access point whose gateway has the registry; `None` if nothing is handed over.
    pub(super) fn registry(&self) -> Option<usize> {
        self.model().access_points().position(|node| Some(node) == self.roaming.registry)
    }

    /// Checks that bridges can join the hosts.
    pub(super) fn check(&self) -> Result<(), TrialError> {
        let (scenario, name) = (self.scenario, &self.model().name);
        if scenario.wlans.iter().filter(|cell| cell.roaming.is_some()).count() > 1 {
            let problem = "clients roam in several cells; expected one such cell between real hosts";
            return Err(TrialError::unsuitable("wlans", problem));
        }
        if self.roaming.registry.is_some() && self.registry().is_none() {
            let problem = "not an access point; expected one of them, whose gateway keeps the registry between real hosts";
            return Err(TrialError::unsuitable(format!("wlans.{name}.roaming.registry"), problem));
        }
        // Nodes that are joined have the same number.
        let mut joined: Vec<usize> = (0..scenario.nodes.len()).collect();
        let mut links = vec![0; scenario.nodes.len()];
        for link in scenario.links.iter().filter(|link| !link.link.is_wireless()) {
            let (one, other) = link.ends;
            let [first, second] = [joined[one], joined[other]];
            if first == second {
                let problem = format!(
                    "{:?} is part of a ring, in which bridges would pass frames on forever; expected one path between any two nodes",
                    link.name()
                );
                return Err(TrialError::unsuitable("links", problem));
            }
            joined.iter_mut().filter(|number| **number == second).for_each(|number| *number = first);
            for end in [one, other] {
                links[end] += 1;
                if scenario.nodes[end].kind != NodeKind::Router && links[end] > 1 {
                    let node = &scenario.nodes[end].name;
                    let problem =
                        "a host with several links; expected one link, because hosts are no bridges";
                    return Err(TrialError::unsuitable(format!("nodes.{node}"), problem));
                }
            }
        }
        Ok(())
    }

    /// The address of each node.
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        (0..self.scenario.nodes.len()).map(|node| address(node).into()).collect()
    }

    /// Creates the devices of the hosts, each at its end of the model.
    pub(super) fn attach(&self, site: &Site, built: &BuiltLinks) -> Result<Vec<emulator::End>, TrialError> {
        let mut emulated = Vec::new();
        for End { link, node, place } in self.cables() {
            let (first, second) = built.ends[link];
            let (own, peer) = if place == 0 { (first, second) } else { (second, first) };
            let name = device_name(&self.scenario.links[link], link);
            let device = Device::between_hosts(&site.hosts[node], &name)?;
            emulated.push(emulator::End { node: own, peer: Peer::Node(peer), device });
        }
        for (station, node) in self.model().stations.iter().zip(&built.stations[self.cell]) {
            let device = Device::between_hosts(&site.hosts[station.node], &radios::device_of(self.cell))?;
            emulated.push(emulator::End { node: *node, peer: Peer::Associated, device });
        }
        Ok(emulated)
    }

    /// Configures the devices, which must exist: bridges, and the addresses of all hosts. A radio of an access point joins
    /// its bridge when hostapd runs.
    pub(super) fn configure(&self, site: &Site) -> Result<(), TrialError> {
        let scenario = self.scenario;
        let joins_later = |port: &String| !site.radios().of_hosts().is_empty() && self.is_radio(port);
        for (node, host) in site.hosts.iter().enumerate() {
            host.sysctl("ipv6/conf/all/disable_ipv6", "1").map_err(TrialError::Namespace)?;
            let ports = self.ports_of(node);
            let mut commands = Vec::new();
            let own = hardware_address(node);
            let device = match (scenario.nodes[node].kind, &ports[..]) {
                (NodeKind::Router, _) => {
                    commands.push(format!("link add {BRIDGE} address {own} type bridge mcast_snooping 0"));
                    let ports = ports.iter().filter(|port| !joins_later(port));
                    commands.extend(ports.map(|port| format!("link set {port} master {BRIDGE} up")));
                    BRIDGE
                }
                (_, [port, ..]) => {
                    commands.push(format!("link set {port} address {own}"));
                    port
                }
                (_, []) => continue,
            };
            commands.push(format!("link set {device} up"));
            commands.push(format!("address add {}/24 dev {device}", address(node)));
            // No link carries address resolution.
            for other in (0..site.hosts.len()).filter(|other| *other != node) {
                let neighbor = hardware_address(other);
                commands.push(format!(
                    "neighbor add {} lladdr {neighbor} dev {device} nud permanent",
                    address(other)
                ));
            }
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            host.ip(&commands)?;
        }
        site.set_sysctls(scenario)
    }

    /// The interfaces of an access point: to the wired network, and to the clients.
    pub(super) fn ports(&self, access_point: usize) -> (Vec<String>, Vec<String>) {
        self.ports_of(access_point).into_iter().partition(|port| !self.is_radio(port))
    }

    /// The stations in the model.
    pub(super) fn stations(&self, built: &BuiltLinks) -> Stations {
        let (access_points, clients) = built.stations[self.cell].split_at(self.roaming.access_points);
        Stations { access_points: access_points.to_vec(), clients: clients.to_vec() }
    }

    fn is_radio(&self, port: &str) -> bool {
        port == radios::device_of(self.cell)
    }

    fn ports_of(&self, node: usize) -> Vec<String> {
        let cables = self.cables().filter(|end| end.node == node);
        let cables = cables.map(|end| device_name(&self.scenario.links[end.link], end.link));
        let radio = self.scenario.roams(node).then(|| radios::device_of(self.cell));
        cables.chain(radio).collect()
    }

    /// Both ends of every wired link.
    fn cables(&self) -> impl Iterator<Item = End> + '_ {
        ends(self.scenario, &NO_RADIOS).filter(|end| !self.scenario.links[end.link].link.is_wireless())
    }
}

/// The address of a host; [`super::site::check`] limits the number of nodes.
fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + node as u8)
}

/// The Ethernet address of a host.
fn hardware_address(node: usize) -> MacAddress {
    MacAddress(ethernet_address(address(node)))
}
