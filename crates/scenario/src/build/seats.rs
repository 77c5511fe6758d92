//! Seats for agents: every node with its wireless links, and every router of the wired network with
//! its links on the path to mobile hosts.

use std::collections::BTreeMap;

use lasthop_agent::Agent;
use lasthop_schemes::{Placement, Role, Seat};
use lasthop_sim::ess::AccessPointId;
use lasthop_sim::{LinkId, NodeId, World};

use super::BuildError;
use super::built::BuiltWlan;
use crate::model::{Scenario, SchemeChoice};

/// The seats of a network with nodes of type `N`, in the order of the scenario's links.
pub(super) struct Seats<N> {
    vacancies: Vec<Vacancy<N>>,
    /// The index in `vacancies` of each node's seat.
    at: BTreeMap<N, usize>,
}

/// A seat for which a scheme may have an agent.
struct Vacancy<N> {
    /// Index of the scenario's node.
    index: usize,
    node: N,
    seat: Seat,
    /// Indices of the scenario's links.
    watched: Vec<usize>,
}

/// An agent with its node and links.
pub(crate) struct SeatedAgent<N> {
    node: N,
    /// Indices of the scenario's links.
    watched: Vec<usize>,
    /// The index of the cell whose clients it watches, and its number among the access points there.
    clients_of: Option<(usize, u32)>,
    agent: Box<dyn Agent>,
}

impl<N> Default for Seats<N> {
    fn default() -> Self {
        Self { vacancies: Vec::new(), at: BTreeMap::new() }
    }
}

impl<N: Copy + Ord> Seats<N> {
    /// Adds a link to the watched links of a node, which is the scenario's node `index`.
    pub(super) fn watch(&mut self, (index, node): (usize, N), seat: Seat, link: usize) {
        let at = *self.at.entry(node).or_insert(self.vacancies.len());
        if at == self.vacancies.len() {
            self.vacancies.push(Vacancy { index, node, seat, watched: Vec::new() });
        }
        self.vacancies[at].watched.push(link);
    }

    /// Adds the wired routers' links on the path to mobile hosts. `nodes` are those of the network,
    /// each with its index in the scenario; `next_link` returns the link from one of them toward
    /// another.
    pub(super) fn watch_at_routers(
        &mut self,
        nodes: &[(usize, N, Seat)],
        mut next_link: impl FnMut(N, N) -> Option<usize>,
    ) {
        let in_role = |wanted: Role| nodes.iter().filter(move |(_, _, seat)| seat.role == wanted);
        for &(index, router, seat) in in_role(Role::Router) {
            let mut links: Vec<usize> =
                in_role(Role::MobileHost).filter_map(|(_, host, _)| next_link(router, *host)).collect();
            links.sort_unstable();
            links.dedup();
            for link in links {
                self.watch((index, router), seat, link);
            }
        }
    }

    /// Whether a placement has an agent for one of the seats.
    pub(super) fn has_one_for(&self, placement: &dyn Placement) -> bool {
        self.vacancies.iter().any(|vacancy| placement.agent(vacancy.seat).is_some())
    }

    /// A scheme's agents for these seats. An error if a link does not report the events that its
    /// agent needs.
    pub(super) fn agents(
        &self,
        scenario: &Scenario,
        scheme: &SchemeChoice,
    ) -> Result<Vec<SeatedAgent<N>>, BuildError> {
        let Some(placement) = scheme.placement() else { return Ok(Vec::new()) };
        let mut agents = Vec::new();
        for Vacancy { index, node, seat, watched } in &self.vacancies {
            let Some(agent) = placement.agent(*seat) else { continue };
            let needs = agent.needs();
            for watched in watched {
                let (link, offered) = (&scenario.links[*watched], scenario.senses(*watched));
                if let Some(mut problem) = needs.missing_from(offered) {
                    if needs.missing_from(link.link.senses(&scenario.wlans)).is_none() {
                        problem = "the link impairs a part of the traffic (only, except): other packets are in no frame, \
                                   and have no fate";
                    }
                    let settings = scheme.stack().map(|stack| stack.settings_beyond(*seat, offered));
                    return Err(BuildError::Agent {
                        scheme: scheme.label.clone(),
                        settings: settings.unwrap_or_default(),
                        node: scenario.nodes[*index].name.clone(),
                        link: link.name().to_owned(),
                        problem,
                    });
                }
            }
            let clients_of = scenario.access_point(*index);
            agents.push(SeatedAgent { node: *node, watched: watched.clone(), clients_of, agent });
        }
        Ok(agents)
    }
}

impl<N> SeatedAgent<N> {
    /// Whether it watches the clients of an access point among several.
    pub(super) const fn watches_clients(&self) -> bool {
        self.clients_of.is_some()
    }

    /// Attaches the agent to its node in the world. `links` are the ids of the scenario's links
    /// there.
    pub(super) fn attach(
        self,
        world: &mut World,
        node: impl FnOnce(N) -> NodeId,
        (links, wlans): (&[LinkId], &[BuiltWlan]),
    ) {
        let Self { node: at, watched, clients_of, agent } = self;
        let of_set = clients_of.and_then(|(wlan, number)| Some((wlans[wlan].service_set?, number)));
        let attached = if let Some((set, number)) = of_set {
            world.attach_to_clients(set, AccessPointId(number), agent)
        } else {
            let watched: Vec<LinkId> = watched.into_iter().map(|link| links[link]).collect();
            world.attach(node(at), &watched, agent)
        };
        // It watches links of its node, which has no other seat, and they report the events that it
        // needs.
        attached.expect("the agent was checked against its seat");
    }
}
