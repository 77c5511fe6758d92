//! Builds the links of a scenario without its hosts, so that real hosts can be at their ends; and
//! the simulated background.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_schemes::{Placement, Seat};
use lasthop_sim::{Direction, LinkId, NodeConfig, NodeId, NodeKind, WiredConfig, World};

use super::built::BuiltWlan;
use super::network::routes;
use super::variant::{Variant, WifiStack};
use super::{BuildError, Seats, of_stations};
use crate::model::{Link, LinkModel, NodeModel, Scenario, SchemeChoice, WlanStation};

/// A world of links between external nodes.
pub struct BuiltLinks {
    /// The world at time zero.
    pub world: World,
    /// The two ends of each link, in the scenario's order: external nodes of its own, or simulated
    /// nodes.
    pub ends: Vec<(NodeId, NodeId)>,
    /// The two nodes that transmit on each link: its ends, except for links of 802.11 cells,
    /// because a station may have several.
    pub transmitters: Vec<(NodeId, NodeId)>,
    /// The links.
    pub links: Vec<LinkId>,
    /// The 802.11 cells, each with its stations.
    pub wlans: Vec<BuiltWlan>,
    /// The nodes of each cell's stations.
    pub stations: Vec<Vec<NodeId>>,
    /// The hosts of simulated stations, where the MAC layer of all stations is outside of the world.
    pub station_hosts: Vec<StationHost>,
}

/// The host of a simulated station whose MAC layer is outside of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationHost {
    /// The index of the scenario's node.
    pub node: usize,
    /// The host.
    pub host: NodeId,
    /// The external node that stands for its station: what the host sends comes out there, and what is put in there
    /// reaches the host.
    pub station: NodeId,
}

/// The real hosts.
#[derive(Clone, Copy, Debug)]
pub struct RealHosts<'a> {
    /// Indices of the nodes whose agents run on their own hosts, except those at links to simulated
    /// nodes.
    pub gateways: &'a [usize],
    /// The address of each node's host, by the index of the node. Those of simulated nodes are used only if `wifi` is that
    /// of the hosts.
    pub addresses: &'a [IpAddr],
    /// Whose the MAC layer of the stations of cells is, above the access to the medium.
    pub wifi: WifiStack,
}

impl Scenario {
    /// Builds the links alone, each between two external nodes of its own, so that real hosts can
    /// be at their ends; the caller supplies nodes and flows. Simulated nodes
    /// ([`crate::model::Trial::simulated`]) and their flows are in the world.
    ///
    /// The scheme's agents are in the world, at the ends of its links as with [`Self::build`], as
    /// if each were in the driver of its host's radio. The caller supplies only those of the
    /// gateway at links to real hosts.
    ///
    /// A station of an 802.11 cell is one node, however many links it has. A wire with a delay of
    /// some nanoseconds joins the end of each of its links to it. Where clients roam, each station is
    /// itself the external node of its host: [`World::inject_at_station`].
    ///
    /// If a station is simulated, and the MAC layer of stations is that of the hosts, simulated nodes have only links to
    /// real hosts, which forward what they send each other.
    pub fn build_links(
        &self,
        scheme: &SchemeChoice,
        seed: u64,
        hosts: RealHosts<'_>,
    ) -> Result<BuiltLinks, BuildError> {
        self.check_links(scheme)?;
        let via_hosts = hosts.wifi == WifiStack::Hosts && self.has_simulated_stations();
        let mut site = Site {
            scenario: self,
            world: World::new(seed),
            nodes: BTreeMap::new(),
            hosts_of_stations: BTreeMap::new(),
            hosts,
            via_hosts,
        };
        let stations = self
            .wlans
            .iter()
            .map(|wlan| wlan.stations.iter().map(|station| site.node(station.node)).collect::<Vec<NodeId>>());
        let stations: Vec<Vec<NodeId>> = stations.collect();
        let transmitters: Vec<_> = self.links.iter().map(|link| site.joints(link)).collect();
        let without_loss = scheme.placement().is_none();
        let variant = Variant { scheme, seed, without_loss, wifi: hosts.wifi };
        let places = of_stations(self, seed)?;
        let mut wlans = self.add_wlans(&mut site.world, &stations, &places, variant);
        let links = self.add_links(&mut site.world, &transmitters, &mut wlans, variant);
        let ends = self.links.iter().zip(&transmitters).map(|(link, joints)| site.ends(link, *joints));
        let ends: Vec<_> = ends.collect();
        let station_hosts = if via_hosts { site.join_simulated((&links, &ends)) } else { Vec::new() };
        let mut seats = Seats::default();
        for (index, link) in self.links.iter().enumerate().filter(|(_, link)| link.link.is_wireless()) {
            let (joints, is_real) = (transmitters[index], via_hosts || self.joins_real_hosts(link));
            for (end, joint) in [(link.ends.0, joints.0), (link.ends.1, joints.1)] {
                let is_real = is_real && !site.is_simulated(end);
                let mut address = site.world.node_address(joint);
                if is_real {
                    address = hosts.addresses[end];
                    site.world.set_interface_address(joint, links[index], address);
                }
                if !(is_real && hosts.gateways.contains(&end)) {
                    seats.watch((end, joint), Seat { role: self.role(end), address }, index);
                }
            }
        }
        let simulated = self.trial.simulated.iter().filter_map(|index| {
            let node = site.host_if_there(*index)?;
            Some((*index, node, Seat { role: self.role(*index), address: site.world.node_address(node) }))
        });
        let simulated: Vec<_> = simulated.collect();
        // The first links of the world are the scenario's, in the same order.
        seats.watch_at_routers(&simulated, |router, host| Some(site.world.next_link(router, host)?.index()));
        for agent in seats.agents(self, scheme)? {
            agent.attach(&mut site.world, |node| node, (&links, &wlans));
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if self.is_background(flow) {
                let between = (site.host(flow.from), site.host(flow.to));
                if !site.leads(flow.from, flow.to) {
                    return Err(BuildError::no_route(self, flow));
                }
                self.add_flow(&mut site.world, (index, flow), between, scheme);
            }
        }
        for (index, session) in self.sessions.iter().enumerate() {
            if self.is_background_session(session) {
                let between = [site.host(session.client), site.host(session.server)];
                if !site.leads(session.client, session.server) {
                    return Err(BuildError::no_route_for_session(self, session));
                }
                self.add_session(&mut site.world, (index, session), between, scheme);
            }
        }
        Ok(BuiltLinks { world: site.world, ends, transmitters, links, wlans, stations, station_hosts })
    }
}

impl Scenario {
    /// Whether [`Self::build_links`] can build the links between real hosts under a scheme.
    pub fn check_links(&self, scheme: &SchemeChoice) -> Result<(), BuildError> {
        if let Some(cell) = self.wlans.iter().find(|cell| cell.routing.is_some()) {
            return Err(BuildError::RealHosts { wlan: cell.name.clone() });
        }
        let translates = |node: &&NodeModel| node.nat.is_some();
        if let Some(node) = self.nodes.iter().find(translates) {
            return Err(BuildError::Translation { node: node.name.clone() });
        }
        let roaming = self
            .wlans
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| Some((index, cell, cell.roaming.as_ref()?)));
        for (index, cell, roaming) in roaming {
            let is_other = |link: &LinkModel| link.link.is_wireless() && !link.link.is_of_cell(index);
            let has_agent = |client: &WlanStation| {
                let address = NodeConfig::default_address(client.node);
                let agent = |placement: &dyn Placement| {
                    placement.agent(Seat { role: self.role(client.node), address })
                };
                scheme.placement().and_then(agent).is_some()
            };
            let problem = if roaming.nat.is_some() {
                "translate addresses"
            } else if !self.trial.simulated.is_empty() {
                "share the network with nodes in try.simulated"
            } else if self.links.iter().any(is_other) {
                "share the network with other wireless links"
            } else if cell.stations[roaming.access_points..].iter().any(has_agent) {
                "have clients with agents of the scheme"
            } else {
                continue;
            };
            return Err(BuildError::Roaming {
                wlan: cell.name.clone(),
                scheme: scheme.label.clone(),
                problem,
            });
        }
        Ok(())
    }
}

/// The world while it is built.
struct Site<'a> {
    scenario: &'a Scenario,
    hosts: RealHosts<'a>,
    world: World,
    /// The nodes of the scenario that are nodes here: simulated nodes, stations, and the other ends
    /// of links of simulated nodes.
    nodes: BTreeMap<usize, NodeId>,
    /// The simulated hosts whose stations have a MAC layer outside of the world.
    hosts_of_stations: BTreeMap<usize, NodeId>,
    /// Whether simulated nodes reach each other through real hosts.
    via_hosts: bool,
}

impl Site<'_> {
    /// The node for the scenario's node with this index, as others see it on its links; added at the first call.
    fn node(&mut self, index: usize) -> NodeId {
        if self.is_simulated(index) && !self.has_radio(index) {
            return self.host(index);
        }
        let (world, model) = (&mut self.world, &self.scenario.nodes[index]);
        let (kind, address) = if self.scenario.roams(index) {
            (NodeKind::External, Some(self.hosts.addresses[index]))
        } else {
            (NodeKind::Router, None)
        };
        let config = NodeConfig {
            address,
            processing_delay: model.processing_delay,
            buffer: model.buffer,
            ..NodeConfig::new(&model.name, kind)
        };
        *self.nodes.entry(index).or_insert_with(|| world.add_node(config))
    }

    /// The node that has the flows of a simulated node; added at the first call.
    fn host(&mut self, index: usize) -> NodeId {
        let address = self.via_hosts.then(|| self.hosts.addresses[index]);
        let known = if self.has_radio(index) { &mut self.hosts_of_stations } else { &mut self.nodes };
        let (world, model) = (&mut self.world, &self.scenario.nodes[index]);
        let config = NodeConfig {
            address,
            processing_delay: model.processing_delay,
            buffer: model.buffer,
            ..NodeConfig::new(&model.name, model.kind)
        };
        *known.entry(index).or_insert_with(|| world.add_node(config))
    }

    /// The same, if it has been added.
    fn host_if_there(&self, index: usize) -> Option<NodeId> {
        let known = if self.has_radio(index) { &self.hosts_of_stations } else { &self.nodes };
        known.get(&index).copied()
    }

    fn is_simulated(&self, index: usize) -> bool {
        self.scenario.trial.simulated.contains(&index)
    }

    /// Whether a node has a station whose MAC layer is outside of the world, and is no real host.
    fn has_radio(&self, index: usize) -> bool {
        let mut stations = self.scenario.wlans.iter().flat_map(|cell| &cell.stations);
        self.via_hosts && self.is_simulated(index) && stations.any(|station| station.node == index)
    }

    /// Whether packets of a simulated node reach another one.
    fn leads(&mut self, from: usize, to: usize) -> bool {
        if self.via_hosts {
            return routes(self.scenario).lead(from, to);
        }
        let [from, to] = [from, to].map(|node| self.host(node));
        self.world.has_route(from, to)
    }

    /// Joins the hosts of simulated stations to external nodes, and gives each simulated node the ways to all others:
    /// through real hosts where the world has none.
    fn join_simulated(&mut self, (links, ends): (&[LinkId], &[(NodeId, NodeId)])) -> Vec<StationHost> {
        let simulated: Vec<usize> = self.scenario.trial.simulated.iter().copied().collect();
        let mut station_hosts = Vec::new();
        let mut ways = BTreeMap::new();
        for &node in &simulated {
            if !self.has_radio(node) {
                continue;
            }
            let host = self.host(node);
            let name = format!("{} on the air", self.scenario.nodes[node].name);
            let (station, link) = self.join(&name, host);
            station_hosts.push(StationHost { node, host, station });
            ways.insert(node, (link, station));
        }
        let routes = routes(self.scenario);
        for &from in &simulated {
            for &to in simulated.iter().filter(|to| **to != from) {
                let (host, destination) = (self.host(from), self.host(to));
                let Some(hop) = routes.hop(from, to).filter(|_| !self.world.has_route(host, destination))
                else {
                    continue;
                };
                let (link, outside) = ways.get(&from).copied().unwrap_or_else(|| {
                    let (first, second) = ends[hop.link];
                    (links[hop.link], if first == host { second } else { first })
                });
                // The link is one of the node's.
                let _ = self.world.set_route(host, destination, link);
                self.world.set_exit(outside, destination);
            }
        }
        station_hosts
    }

    /// The nodes that a link joins.
    fn joints(&mut self, link: &LinkModel) -> (NodeId, NodeId) {
        let is_radio = matches!(link.link, Link::Radio { .. });
        let meets = self.via_hosts || self.scenario.joins_real_hosts(link);
        let mut joint = |node: usize| {
            if meets && !is_radio && !self.is_simulated(node) {
                self.external(link, node)
            } else {
                self.node(node)
            }
        };
        (joint(link.ends.0), joint(link.ends.1))
    }

    /// The nodes at which the real hosts of a link are.
    fn ends(&mut self, link: &LinkModel, joints: (NodeId, NodeId)) -> (NodeId, NodeId) {
        let is_own_host = self.scenario.roams(link.ends.1);
        if !self.scenario.joins_real_hosts(link) || !matches!(link.link, Link::Radio { .. }) || is_own_host {
            return joints;
        }
        (self.external_at(link, link.ends.0, joints.0), self.external_at(link, link.ends.1, joints.1))
    }

    /// An external node that a wire joins to a station.
    fn external_at(&mut self, link: &LinkModel, node: usize, station: NodeId) -> NodeId {
        let external = self.external(link, node);
        self.add_wire(format!("{} at {}", link.name(), self.scenario.nodes[node].name), external, station);
        external
    }

    fn external(&mut self, link: &LinkModel, node: usize) -> NodeId {
        let name = format!("{} of {}", self.scenario.nodes[node].name, link.name());
        self.world.add_node(NodeConfig::new(name, NodeKind::External))
    }

    /// An external node that a wire of this name joins to a node.
    fn join(&mut self, name: &str, node: NodeId) -> (NodeId, LinkId) {
        let external = self.world.add_node(NodeConfig::new(name, NodeKind::External));
        (external, self.add_wire(name.to_owned(), external, node))
    }

    fn add_wire(&mut self, name: String, external: NodeId, node: NodeId) -> LinkId {
        let direction = Direction::unimpaired();
        let (forward, backward) = (direction.clone(), direction);
        let wire = WiredConfig { name, forward, backward, clock: Duration::ZERO, seed: None };
        self.world.add_wired_link(external, node, &wire)
    }
}
