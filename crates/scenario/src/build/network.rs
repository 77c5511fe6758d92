//! The network of a scenario's nodes and links: routes, roles, and seats for agents. It is the same
//! under each scheme and seed.

use lasthop_schemes::{Placement, Seat};
use lasthop_sim::routing::{Routes, Topology};
use lasthop_sim::world::aodv_address;
use lasthop_sim::{NodeConfig, Opening};

use super::error::BuildError;
use super::seats::{SeatedAgent, Seats};
use crate::model::{FlowModel, Link, Scenario, SchemeChoice, TransportModel};

/// A scenario's network, with a route for each flow and session.
pub struct Network<'a> {
    scenario: &'a Scenario,
    routes: Routes,
    /// At indices of the scenario's nodes.
    seats: Seats<usize>,
}

impl<'a> Network<'a> {
    /// The network, or an error if a flow or session has no route, or a route is impossible.
    pub fn new(scenario: &'a Scenario) -> Result<Self, BuildError> {
        let routes = routes(scenario);
        let seats = seats(scenario, &routes);
        let network = Self { scenario, routes, seats };
        network.check_on_demand()?;
        network.check_circles()?;
        network.check_sites()?;
        if let Some(flow) = scenario.flows.iter().find(|flow| !network.routes.lead(flow.from, flow.to)) {
            return Err(BuildError::no_route(scenario, flow));
        }
        let leads_both_ways =
            |one: usize, other: usize| network.routes.lead(one, other) && network.routes.lead(other, one);
        let cut_off = scenario.sessions.iter().find(|it| !leads_both_ways(it.client, it.server));
        match cut_off {
            None => {
                network.check_established()?;
                Ok(network)
            }
            Some(session) => Err(BuildError::no_route_for_session(scenario, session)),
        }
    }

    /// A scheme's agents, or an error if one cannot work in its seat.
    pub(crate) fn agents(&self, scheme: &SchemeChoice) -> Result<Vec<SeatedAgent<usize>>, BuildError> {
        self.seats.agents(self.scenario, scheme)
    }

    /// Whether a placement has an agent for one of the nodes.
    pub(super) fn seats_any(&self, placement: &dyn Placement) -> bool {
        self.seats.has_one_for(placement)
    }

    /// Whether packets from one node to another cross an 802.11 cell.
    pub fn crosses_a_wlan(&self, from: usize, to: usize) -> bool {
        let links = &self.scenario.links;
        self.routes.are_on_demand(from, to)
            || self.routes.path(from, to).any(|hop| matches!(links[hop.link].link, Link::Radio { .. }))
    }

    /// Checks whether all stations of cells with routing on demand support it.
    fn check_on_demand(&self) -> Result<(), BuildError> {
        let Self { scenario, routes, .. } = self;
        for (index, cell) in scenario.wlans.iter().enumerate().filter(|(_, cell)| cell.routing.is_some()) {
            for station in &cell.stations {
                let hops = routes.topology().hops(station.node).iter();
                let ends = hops.map(|hop| (scenario.links[hop.link].link.is_of_cell(index), hop.to));
                for (is_of_cell, node) in std::iter::once((true, station.node)).chain(ends) {
                    aodv_address(is_of_cell, NodeConfig::default_address(node)).map_err(|problem| {
                        BuildError::OnDemand { node: scenario.nodes[station.node].name.clone(), problem }
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Refuses flows without a handshake that translators do not let through.
    fn check_established(&self) -> Result<(), BuildError> {
        let Self { scenario, routes, .. } = self;
        let is_established = |flow: &&FlowModel| matches!(&flow.transport, TransportModel::Tcp(tcp) if tcp.opening == Opening::Established);
        for flow in scenario.flows.iter().filter(is_established) {
            if let Some(node) = scenario.translator_between(routes, flow.from, flow.to) {
                return Err(BuildError::Established {
                    flow: flow.name.clone(),
                    node: scenario.nodes[node].name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Refuses registries and central translators that the messages of access points do not reach untranslated.
    fn check_sites(&self) -> Result<(), BuildError> {
        let Self { scenario, routes, .. } = self;
        for cell in &scenario.wlans {
            let Some(roaming) = &cell.roaming else { continue };
            let central = roaming.nat.as_ref().and_then(|nat| nat.central);
            for node in cell.access_points() {
                if let Some(registry) = roaming.registry
                    && scenario.translator_between(routes, node, registry).is_some()
                {
                    return Err(BuildError::RegistryOutside {
                        wlan: cell.name.clone(),
                        access_point: scenario.nodes[node].name.clone(),
                        registry: scenario.nodes[registry].name.clone(),
                    });
                }
                if let Some(central) = central
                    && !scenario.is_inside_of(routes, node, central)
                {
                    return Err(BuildError::NotInside {
                        wlan: cell.name.clone(),
                        access_point: scenario.nodes[node].name.clone(),
                        central: scenario.nodes[central].name.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Refuses static routes that form a loop. Shortest paths alone form none, so that every loop
    /// has a static route on it.
    fn check_circles(&self) -> Result<(), BuildError> {
        let Self { scenario, routes, .. } = self;
        match scenario.routes.iter().find(|route| routes.goes_in_circles(route.node, route.destination)) {
            None => Ok(()),
            Some(route) => Err(BuildError::Circle {
                node: scenario.nodes[route.node].name.clone(),
                destination: scenario.nodes[route.destination].name.clone(),
            }),
        }
    }
}

/// The routes that the world will have.
pub(super) fn routes(scenario: &Scenario) -> Routes {
    let mut topology = Topology::new(scenario.nodes.len());
    for link in &scenario.links {
        topology.join(link.ends.0, link.ends.1);
    }
    for (index, cell) in scenario.wlans.iter().enumerate().filter(|(_, cell)| cell.routing.is_some()) {
        for station in &cell.stations {
            topology.route_on_demand(station.node, index);
        }
    }
    let mut routes = Routes::shortest(topology);
    for route in &scenario.routes {
        routes.set(route.node, route.destination, route.link);
    }
    routes
}

fn seats(scenario: &Scenario, routes: &Routes) -> Seats<usize> {
    let roles = scenario.roles();
    let seat = |node: usize| Seat { role: roles[node], address: NodeConfig::default_address(node) };
    let mut seats = Seats::default();
    for (index, link) in scenario.links.iter().enumerate().filter(|(_, link)| link.link.is_wireless()) {
        for end in [link.ends.0, link.ends.1] {
            seats.watch((end, end), seat(end), index);
        }
    }
    // Access points watch all clients that come; the first link stands for them.
    for (index, cell) in scenario.wlans.iter().enumerate() {
        let Some(first) = scenario.links.iter().position(|link| link.link.is_of_cell(index)) else {
            continue;
        };
        for node in cell.access_points().filter(|node| scenario.links[first].ends.0 != *node) {
            seats.watch((node, node), seat(node), first);
        }
    }
    let nodes: Vec<(usize, usize, Seat)> = (0..roles.len()).map(|node| (node, node, seat(node))).collect();
    seats.watch_at_routers(&nodes, |router, host| Some(routes.hop(router, host)?.link));
    seats
}
