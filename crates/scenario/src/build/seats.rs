//! Seats for agents: every node with the wireless links that it watches, and every router of the wired
//! network with its links on the way to mobile hosts.

use std::net::IpAddr;

use lasthop_schemes::{Role, Seat};
use lasthop_sim::{LinkId, NodeId, World};

use super::BuildError;
use crate::model::{Scenario, SchemeChoice};

/// The seats of a world, in the order of the scenario's links.
#[derive(Default)]
pub(super) struct Seats(Vec<Vacancy>);

/// A seat that a scheme may have an agent for.
struct Vacancy {
    /// Index of the scenario's node.
    index: usize,
    node: NodeId,
    seat: Seat,
    watched: Vec<LinkId>,
}

impl Seats {
    /// Adds a link to those that are watched at a node, which is the scenario's node `index` and is known by
    /// this address.
    pub(super) fn watch(
        &mut self,
        (index, role): (usize, Role),
        node: NodeId,
        address: IpAddr,
        link: LinkId,
    ) {
        match self.0.iter_mut().find(|vacancy| vacancy.node == node) {
            Some(vacancy) => vacancy.watched.push(link),
            None => self.0.push(Vacancy { index, node, seat: Seat { role, address }, watched: vec![link] }),
        }
    }
}

impl Scenario {
    /// Watches the wired routers' links on the way to mobile hosts. `nodes` are the world's, by the
    /// scenario's indices; `None` where the world has none.
    pub(super) fn watch_at_routers(&self, seats: &mut Seats, world: &mut World, nodes: &[Option<NodeId>]) {
        let in_role = |wanted: Role| {
            let of_scenario = nodes.iter().enumerate().filter(move |(index, _)| self.role(*index) == wanted);
            of_scenario.filter_map(|(index, node)| Some((index, (*node)?)))
        };
        for (index, router) in in_role(Role::Router) {
            let mut links: Vec<LinkId> =
                in_role(Role::MobileHost).filter_map(|(_, host)| world.next_link(router, host)).collect();
            links.sort_unstable();
            links.dedup();
            for link in links {
                seats.watch((index, Role::Router), router, world.node_address(router), link);
            }
        }
    }

    /// Puts a scheme's agents into their seats.
    pub(super) fn place_agents(
        &self,
        world: &mut World,
        seats: &Seats,
        scheme: &SchemeChoice,
    ) -> Result<(), BuildError> {
        let Some(placement) = scheme.placement() else { return Ok(()) };
        for Vacancy { index, node, seat, watched } in &seats.0 {
            let Some(agent) = placement.agent(*seat) else { continue };
            world.attach(*node, watched, agent).map_err(|problem| BuildError::Agent {
                scheme: scheme.label.clone(),
                node: self.nodes[*index].name.clone(),
                link: world.link_name(problem.link()).to_owned(),
                problem,
            })?;
        }
        Ok(())
    }
}
