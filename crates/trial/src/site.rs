//! A scenario's nodes as hosts on this machine: each is a network namespace, and emulated links
//! join them. Here every link is a subnet, and routers route; where clients roam, see `bridged`.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use lasthop_emulator::{self as emulator, Device, Peer};
use lasthop_scenario::{BuiltLinks, LinkModel, Scenario};
use lasthop_schemes::Role;
use lasthop_sim::{NodeId, NodeKind};

use super::adapters::{Adapter, Adapters};
use super::error::TrialError;
use super::here::Here;
use super::radios::{NO_RADIOS, Radio, Radios};
use lasthop_linux::namespace::Namespace;

/// The maximum number of nodes.
const MAX_NODES: usize = 50;
/// The maximum number of links: a link's number is the third octet of its hosts' addresses.
const MAX_LINKS: usize = 1 << u8::BITS;
/// The kernel's limit is 15 characters and a zero (`IFNAMSIZ`).
const LONGEST_DEVICE_NAME: usize = 15;

/// The hosts of a scenario's nodes, and their addresses.
pub struct Site {
    /// Hosts by the index of their node. Those that are not here stay empty.
    pub hosts: Vec<Namespace>,
    /// The address of each node for others.
    pub addresses: Vec<IpAddr>,
    /// The radios of the hosts' kernel.
    radios: Radios,
    adapters: Adapters,
    here: Here,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The link's index.
    pub link: usize,
    /// The node's index.
    pub node: usize,
    /// 0 for the link's first node, 1 for the second.
    pub place: usize,
}

impl End {
    /// Its node in the model, and the node at the link's other end.
    pub(super) fn of(self, built: &BuiltLinks) -> (NodeId, NodeId) {
        let (first, second) = built.ends[self.link];
        if self.place == 0 { (first, second) } else { (second, first) }
    }
}

/// The links that real hosts know, with their indices: those between them and, if stations beside their radios are
/// simulated, all.
fn links<'a>(
    scenario: &'a Scenario,
    radios: &'a Radios,
) -> impl Iterator<Item = (usize, &'a LinkModel)> + 'a {
    let is_known = |link: &LinkModel| !radios.simulated().is_empty() || scenario.joins_real_hosts(link);
    scenario.links.iter().enumerate().filter(move |(_, link)| is_known(link))
}

/// All ends of these links.
fn all_ends<'a>(scenario: &'a Scenario, radios: &'a Radios) -> impl Iterator<Item = End> + 'a {
    links(scenario, radios).flat_map(|(link, model)| {
        [model.ends.0, model.ends.1].into_iter().enumerate().map(move |(place, node)| End {
            link,
            node,
            place,
        })
    })
}

/// The ends of these links at real hosts.
pub(super) fn ends<'a>(scenario: &'a Scenario, radios: &'a Radios) -> impl Iterator<Item = End> + 'a {
    all_ends(scenario, radios).filter(|end| !scenario.trial.simulated.contains(&end.node))
}

/// The ends of links at which hosts have a device each: all but those of radios.
pub(super) fn ends_of_devices<'a>(
    scenario: &'a Scenario,
    radios: &'a Radios,
) -> impl Iterator<Item = End> + 'a {
    ends(scenario, radios).filter(|end| radios.of(&scenario.links[end.link], end.node).is_none())
}

/// The name of a link's device on both of its hosts: the link's name, or its number if the name is
/// not valid for a device.
pub fn device_name(link: &LinkModel, index: usize) -> String {
    let name = link.name();
    // A dot in a device's name would be a separator in the names of its sysctls.
    if name.len() <= LONGEST_DEVICE_NAME && name != "lo" && !name.contains('.') {
        name.to_owned()
    } else {
        format!("link{index}")
    }
}

/// The node at the other end of the link.
fn other_end(scenario: &Scenario, end: End) -> usize {
    let ends = scenario.links[end.link].ends;
    if end.place == 0 { ends.1 } else { ends.0 }
}

/// The name of the device through which a link leads at its end.
fn device(scenario: &Scenario, radios: &Radios, end: End) -> String {
    let link = &scenario.links[end.link];
    radios.of(link, end.node).map_or_else(|| device_name(link, end.link), Radio::device)
}

/// A node's interfaces: to the wired network, and to wireless hops.
pub(super) fn ports(scenario: &Scenario, radios: &Radios, node: usize) -> (Vec<String>, Vec<String>) {
    let ends = ends(scenario, radios).filter(|end| end.node == node);
    let (radio, core): (Vec<End>, Vec<End>) =
        ends.partition(|end| scenario.links[end.link].link.is_wireless());
    let names = |ends: Vec<End>| {
        let mut names: Vec<String> = ends.into_iter().map(|end| device(scenario, radios, end)).collect();
        // Links of a radio have one device.
        names.dedup();
        names
    };
    (names(core), names(radio))
}

/// Checks that there are enough hosts and addresses.
pub fn check(scenario: &Scenario) -> Result<(), TrialError> {
    let counts = [("nodes", scenario.nodes.len(), MAX_NODES), ("links", scenario.links.len(), MAX_LINKS)];
    match counts.into_iter().find(|(_, count, most)| count > most) {
        None => Ok(()),
        Some((what, count, most)) => Err(TrialError::unsuitable(
            what,
            format!("{count} {what}; expected at most {most} between real hosts on one machine"),
        )),
    }
}

/// The only node that can have an agent of the gateway: the router between wired links and a
/// wireless hop.
pub fn edge(scenario: &Scenario) -> Result<usize, TrialError> {
    let mut edges = (0..scenario.nodes.len())
        .filter(|node| scenario.nodes[*node].kind == NodeKind::Router && scenario.role(*node) == Role::Edge);
    let edge = edges.next().ok_or_else(|| {
        let problem = "no node is an edge, where the schemes run between real hosts; expected one router with a wired and a \
                       wireless link";
        TrialError::unsuitable("nodes", problem)
    })?;
    match edges.next() {
        None => Ok(edge),
        Some(other) => {
            let [edge, other] = [edge, other].map(|node| &scenario.nodes[node].name);
            let problem = format!(
                "{edge:?} and {other:?} both have wired and wireless links; expected one such router between real hosts"
            );
            Err(TrialError::unsuitable("nodes", problem))
        }
    }
}

impl Site {
    /// A namespace for each node, still without devices.
    pub fn new(scenario: &Scenario, addresses: Vec<IpAddr>) -> Result<Self, TrialError> {
        Self::with_radios(scenario, addresses, Radios::none(), Here::All)
    }

    /// As [`Self::new`], for hosts whose kernels have these radios, and of which some may be elsewhere.
    pub(super) fn with_radios(
        scenario: &Scenario,
        addresses: Vec<IpAddr>,
        radios: Radios,
        here: Here,
    ) -> Result<Self, TrialError> {
        check(scenario)?;
        let hosts = scenario.nodes.iter().map(|node| Namespace::new(&node.name));
        let hosts = hosts.collect::<Result<Vec<_>, _>>().map_err(TrialError::Namespace)?;
        let radios_here = radios.of_hosts().iter().copied().filter(|radio| here.has(radio.node));
        let adapters = Adapters::new(radios_here, |node| scenario.nodes[node].name.as_str())?;
        Ok(Self { hosts, addresses, radios, adapters, here })
    }

    /// The host of a node, if it is here.
    pub(super) fn host(&self, node: usize) -> Option<&Namespace> {
        self.hosts.get(node).filter(|_| self.here.has(node))
    }

    /// The hosts that are here, with the indices of their nodes.
    fn hosts_here(&self) -> impl Iterator<Item = (usize, &Namespace)> {
        self.hosts.iter().enumerate().filter(|(node, _)| self.here.has(*node))
    }

    /// The address of a node for others.
    pub fn address(&self, node: usize) -> IpAddr {
        self.addresses[node]
    }

    /// The radios of the hosts' kernels.
    pub(super) const fn radios(&self) -> &Radios {
        &self.radios
    }

    /// The radios of the hosts that are here, with their numbers among all.
    pub(super) fn radios_here(&self) -> impl Iterator<Item = (usize, Radio)> {
        let radios = self.radios.of_hosts().iter().copied().enumerate();
        radios.filter(|(_, radio)| self.here.has(radio.node))
    }

    /// The adapters of clients.
    pub(super) fn adapters(&self) -> &[Adapter] {
        self.adapters.all()
    }

    /// The host that has a radio.
    pub(super) fn host_of(&self, radio: Radio) -> &Namespace {
        self.adapters.host_of(radio).unwrap_or(&self.hosts[radio.node])
    }

    /// Creates the devices of the hosts at all links between them, each at its end of the model.
    pub fn attach(&self, scenario: &Scenario, built: &BuiltLinks) -> Result<Vec<emulator::End>, TrialError> {
        let attached = ends(scenario, &self.radios).map(|end| {
            let (node, peer) = end.of(built);
            let name = device_name(&scenario.links[end.link], end.link);
            let device = Device::tap_in(&self.hosts[end.node], &name)?;
            Ok(emulator::End { node, peer: Peer::Node(peer), device })
        });
        attached.collect()
    }

    /// The ends of links at which hosts here have a device each, with their numbers in the order of [`ends_of_devices`].
    fn ends_here<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = (usize, End)> + 'a {
        ends_of_devices(scenario, &self.radios).enumerate().filter(|(_, end)| self.here.has(end.node))
    }

    /// Gives each host here the devices at its ends of links. `device` finds the name that the device at the end with this
    /// number, in the order of [`ends_of_devices`], has in the namespace of the calling thread.
    pub fn adopt(
        &self,
        scenario: &Scenario,
        device: impl Fn(usize) -> io::Result<String>,
    ) -> Result<(), TrialError> {
        let here = Namespace::current("here").map_err(TrialError::Namespace)?;
        let moves = self.ends_here(scenario).map(|(number, end)| {
            let device = device(number)?;
            let name = device_name(&scenario.links[end.link], end.link);
            // Without addrgenmode, the kernel would look for routers.
            let netns = self.hosts[end.node].path();
            Ok(format!("link set {device} addrgenmode none\nlink set {device} netns {netns} name {name}"))
        });
        let moves = moves.collect::<io::Result<Vec<_>>>().map_err(TrialError::Namespace)?;
        here.ip(&moves.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(())
    }

    /// Configures the addresses of the devices, which must exist, and a route from every node here to
    /// every link.
    pub fn configure(&self, scenario: &Scenario) -> Result<(), TrialError> {
        let is_real = |node: usize| !scenario.trial.simulated.contains(&node);
        for (node, host) in self.hosts_here().filter(|(node, _)| is_real(*node)) {
            let mut commands = Vec::new();
            for end in ends(scenario, &self.radios).filter(|end| end.node == node) {
                let device = device(scenario, &self.radios, end);
                commands.push(format!("address add {}/24 dev {device}", address(end)));
                let radio = self.radios.of(&scenario.links[end.link], node);
                let peer = End { node: other_end(scenario, end), place: 1 - end.place, ..end };
                let simulated = self.radios.simulated().iter().find(|other| other.node == peer.node);
                if let Some((_, other)) = radio.zip(simulated) {
                    // Simulated stations do not answer ARP.
                    let mac = other.simulated_address().map(|octet| format!("{octet:02x}")).join(":");
                    commands.push(format!(
                        "neigh replace {} lladdr {mac} nud permanent dev {device}",
                        address(peer)
                    ));
                }
                if radio.is_none_or(|radio| radio.on_adapter) {
                    // The emulator, or a cable, delivers every frame to the other end, so that ARP is not needed.
                    commands.push(format!("link set {device} arp off up"));
                }
            }
            let next_hops = next_hops(scenario, &self.radios, node);
            for (link, model) in links(scenario, &self.radios) {
                if model.ends.0 == node || model.ends.1 == node {
                    continue;
                }
                // Either end serves: the path to the farther one leads through the nearer.
                let gateway = [model.ends.0, model.ends.1].into_iter().find_map(|end| next_hops[end]);
                if let Some(gateway) = gateway {
                    commands.push(format!("route add 10.77.{link}.0/24 via {gateway}"));
                }
            }
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            host.ip(&commands)?;
            host.sysctl("ipv4/ip_forward", "1").map_err(TrialError::Namespace)?;
        }
        for adapter in self.adapters() {
            let of_client = |end: &End| {
                end.node == adapter.radio.node && scenario.links[end.link].link.is_of_cell(adapter.radio.cell)
            };
            for end in ends(scenario, &self.radios).filter(of_client) {
                let access_point = End { place: 1 - end.place, ..end };
                adapter.carry(&address(end).to_string(), &address(access_point).to_string())?;
            }
        }
        self.set_sysctls(scenario)
    }

    /// Makes the scenario's settings of the hosts' kernel.
    pub fn set_sysctls(&self, scenario: &Scenario) -> Result<(), TrialError> {
        for (_, host) in self.hosts_here() {
            for (path, value) in &scenario.trial.sysctl {
                host.sysctl(path, value).map_err(|error| TrialError::Sysctl { path: path.clone(), error })?;
            }
        }
        Ok(())
    }
}

/// The address of each node for others, where every link is a subnet: that on its first link.
pub(super) fn addresses(scenario: &Scenario, radios: &Radios) -> Vec<IpAddr> {
    let of_node = |node: usize| all_ends(scenario, radios).find(|end| end.node == node).map(address);
    (0..scenario.nodes.len()).map(|node| of_node(node).unwrap_or(Ipv4Addr::UNSPECIFIED.into())).collect()
}

/// `10.77.LINK.1` or `.2`; [`check`] requires that the link's number is an octet.
fn address(end: End) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 77, end.link as u8, 1 + end.place as u8))
}

/// Whether a way over real hosts leads from one to another.
pub(super) fn are_joined(scenario: &Scenario, from: usize, to: usize) -> bool {
    next_hops(scenario, &NO_RADIOS, from)[to].is_some()
}

/// The address of the next hop to each node on a path with the fewest hops; through simulated nodes only if there is no
/// other.
fn next_hops(scenario: &Scenario, radios: &Radios, from: usize) -> Vec<Option<IpAddr>> {
    let mut next_hops = vec![None; scenario.nodes.len()];
    let (mut queue, mut simulated) = (VecDeque::from([from]), VecDeque::new());
    while let Some(node) = queue.pop_front().or_else(|| simulated.pop_front()) {
        for (link, model) in links(scenario, radios) {
            let (neighbour, place) = match model.ends {
                (first, second) if first == node => (second, 1),
                (first, second) if second == node => (first, 0),
                _ => continue,
            };
            if neighbour == from || next_hops[neighbour].is_some() {
                continue;
            }
            next_hops[neighbour] = match next_hops[node] {
                Some(gateway) => Some(gateway),
                None => Some(address(End { link, node: neighbour, place })),
            };
            let is_simulated = scenario.trial.simulated.contains(&neighbour);
            if is_simulated { &mut simulated } else { &mut queue }.push_back(neighbour);
        }
    }
    next_hops
}
