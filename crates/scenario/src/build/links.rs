//! Builds the links of a scenario without its hosts, so that real hosts can be at their ends; and
//! the simulated background.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_schemes::{Placement, Seat};
use lasthop_sim::{Direction, LinkId, NodeConfig, NodeId, NodeKind, WiredConfig, World};

use super::built::BuiltWlan;
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
}

/// The real hosts.
#[derive(Clone, Copy, Debug)]
pub struct RealHosts<'a> {
    /// Indices of the nodes whose agents run on their own hosts, except those at links to simulated
    /// nodes.
    pub gateways: &'a [usize],
    /// The address of each node's host, by the index of the node; not used for simulated nodes.
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
    pub fn build_links(
        &self,
        scheme: &SchemeChoice,
        seed: u64,
        hosts: RealHosts<'_>,
    ) -> Result<BuiltLinks, BuildError> {
        self.check_links(scheme)?;
        let mut site = Site { scenario: self, world: World::new(seed), nodes: BTreeMap::new(), hosts };
        let stations = self
            .wlans
            .iter()
            .map(|wlan| wlan.stations.iter().map(|station| site.node(station.node)).collect::<Vec<NodeId>>());
        let stations: Vec<Vec<NodeId>> = stations.collect();
        let transmitters: Vec<_> = self.links.iter().map(|link| site.joints(link)).collect();
        let without_loss = scheme.placement().is_none();
        let variant = Variant { seed, without_loss, wifi: hosts.wifi };
        let places = of_stations(self, seed)?;
        let mut wlans = self.add_wlans(&mut site.world, &stations, &places, variant);
        let links = self.add_links(&mut site.world, &transmitters, &mut wlans, variant);
        let ends = self.links.iter().zip(&transmitters).map(|(link, joints)| site.ends(link, *joints));
        let ends = ends.collect();
        let mut seats = Seats::default();
        for (index, link) in self.links.iter().enumerate().filter(|(_, link)| link.link.is_wireless()) {
            let (joints, is_real) = (transmitters[index], self.joins_real_hosts(link));
            for (end, joint) in [(link.ends.0, joints.0), (link.ends.1, joints.1)] {
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
            let node = *site.nodes.get(index)?;
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
                let between = (site.node(flow.from), site.node(flow.to));
                if !site.world.has_route(between.0, between.1) {
                    return Err(BuildError::no_route(self, flow));
                }
                self.add_flow(&mut site.world, (index, flow), between, scheme);
            }
        }
        for (index, session) in self.sessions.iter().enumerate() {
            if self.is_background_session(session) {
                let between = [site.node(session.client), site.node(session.server)];
                if !site.world.has_route(between[0], between[1]) {
                    return Err(BuildError::no_route_for_session(self, session));
                }
                self.add_session(&mut site.world, (index, session), between, scheme);
            }
        }
        Ok(BuiltLinks { world: site.world, ends, transmitters, links, wlans, stations })
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
}

impl Site<'_> {
    /// The node for the scenario's node with this index; added at the first call.
    fn node(&mut self, index: usize) -> NodeId {
        let (world, model) = (&mut self.world, &self.scenario.nodes[index]);
        let (kind, address) = if self.scenario.trial.simulated.contains(&index) {
            (model.kind, None)
        } else if self.scenario.roams(index) {
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

    /// The nodes that a link joins.
    fn joints(&mut self, link: &LinkModel) -> (NodeId, NodeId) {
        if self.scenario.joins_real_hosts(link) && !matches!(link.link, Link::Radio { .. }) {
            return (self.external(link, link.ends.0), self.external(link, link.ends.1));
        }
        (self.node(link.ends.0), self.node(link.ends.1))
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
        let direction = Direction::unimpaired();
        let wire = WiredConfig {
            name: format!("{} at {}", link.name(), self.scenario.nodes[node].name),
            forward: direction.clone(),
            backward: direction,
            clock: Duration::ZERO,
            seed: None,
        };
        self.world.add_wired_link(external, station, &wire);
        external
    }

    fn external(&mut self, link: &LinkModel, node: usize) -> NodeId {
        let name = format!("{} of {}", self.scenario.nodes[node].name, link.name());
        self.world.add_node(NodeConfig::new(name, NodeKind::External))
    }
}
