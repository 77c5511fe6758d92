//! Static routes: shortest paths by hop count, as the thesis has it, and routes given by hand.
//!
//! Nodes and links are known by their numbers in the order of addition, so that what has a network
//! and no [`crate::World`] can ask for its routes as well.

use std::collections::VecDeque;

/// Nodes and the links between them.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Of each node, where each of its interfaces leads.
    hops: Vec<Vec<Hop>>,
    links: usize,
    /// Of each node, the cell in which it looks for its routes on demand.
    on_demand: Vec<Option<usize>>,
}

/// A step from a node to its neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The neighbour.
    pub to: usize,
    /// The link.
    pub link: usize,
}

impl Topology {
    /// This many nodes, and no links yet.
    pub fn new(nodes: usize) -> Self {
        Self { hops: vec![Vec::new(); nodes], links: 0, on_demand: vec![None; nodes] }
    }

    /// Joins two nodes by the next link. Each of them gets its next interface.
    pub fn join(&mut self, first: usize, second: usize) {
        let link = self.links;
        self.links += 1;
        self.hops[first].push(Hop { to: second, link });
        self.hops[second].push(Hop { to: first, link });
    }

    /// A node gets its next interface, to a link that this node and others have in turn: no table has a route over it.
    pub fn join_in_turn(&mut self, node: usize) {
        let link = self.links;
        self.links += 1;
        self.hops[node].push(Hop { to: node, link });
    }

    /// A node looks for its routes on demand, among the stations of this cell: no table has any
    /// from it.
    pub fn route_on_demand(&mut self, node: usize, cell: usize) {
        self.on_demand[node] = Some(cell);
    }

    /// The neighbors at a node's interfaces, in their order.
    pub fn hops(&self, node: usize) -> &[Hop] {
        &self.hops[node]
    }

    /// Where a node's interfaces lead as far as tables of routes go.
    fn hops_in_tables(&self, node: usize) -> &[Hop] {
        if self.on_demand[node].is_some() { &[] } else { &self.hops[node] }
    }
}

/// For each node, the interface to take towards each destination.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    nodes: usize,
    /// `interface[node * nodes + destination]`; `NONE` where there is no route.
    interface: Vec<u16>,
    topology: Topology,
}

const NONE: u16 = u16::MAX;

impl Routes {
    /// Of several shortest routes the one through the interface that was added first is taken.
    pub fn shortest(topology: Topology) -> Self {
        let nodes = topology.hops.len();
        let mut interface = vec![NONE; nodes * nodes];
        let mut distance = vec![usize::MAX; nodes];
        let mut frontier = VecDeque::new();
        // Links go both ways, so distances from a destination are distances to it.
        for destination in 0..nodes {
            distance.fill(usize::MAX);
            distance[destination] = 0;
            frontier.push_back(destination);
            while let Some(node) = frontier.pop_front() {
                for &Hop { to: next, .. } in topology.hops_in_tables(node) {
                    if distance[next] == usize::MAX {
                        distance[next] = distance[node] + 1;
                        frontier.push_back(next);
                    }
                }
            }
            for node in 0..nodes {
                let hops = topology.hops_in_tables(node);
                let first_hop = hops.iter().position(|hop| distance[hop.to] < distance[node]);
                if let Some(first_hop) = first_hop {
                    interface[node * nodes + destination] = first_hop as u16;
                }
            }
        }
        Self { nodes, interface, topology }
    }

    /// Takes this link of the node, whatever the shortest route; nothing changes if it is no link
    /// of the node.
    pub fn set(&mut self, node: usize, destination: usize, link: usize) {
        let Some(interface) = self.topology.hops[node].iter().position(|hop| hop.link == link) else {
            return;
        };
        if let Some(entry) = self.interface.get_mut(node * self.nodes + destination) {
            *entry = interface as u16;
        }
    }

    /// Takes this interface of the node towards a destination from now on; `None`: there is no route.
    pub(crate) fn set_interface(&mut self, node: usize, destination: usize, interface: Option<u16>) {
        if let Some(entry) = self.interface.get_mut(node * self.nodes + destination) {
            *entry = interface.unwrap_or(NONE);
        }
    }

    /// Takes this interface of the node towards all destinations from now on; `None`: there are no routes.
    pub(crate) fn set_default(&mut self, node: usize, interface: Option<u16>) {
        if let Some(row) = self.interface.get_mut(node * self.nodes..(node + 1) * self.nodes) {
            row.fill(interface.unwrap_or(NONE));
        }
    }

    /// The interface to take at `node` towards `destination`.
    #[inline]
    pub fn interface(&self, node: usize, destination: usize) -> Option<usize> {
        match self.interface.get(node * self.nodes + destination) {
            None | Some(&NONE) => None,
            Some(&interface) => Some(interface as usize),
        }
    }

    /// The step that packets at `node` take towards `destination`: none at the destination itself,
    /// where there is no route, and where routes are found on demand.
    pub fn hop(&self, node: usize, destination: usize) -> Option<Hop> {
        if node == destination {
            return None;
        }
        self.topology.hops[node].get(self.interface(node, destination)?).copied()
    }

    /// The steps from a node towards a destination. A route takes fewer steps than there are nodes;
    /// of one in circles these are as many as there are nodes.
    pub fn path(&self, from: usize, destination: usize) -> impl Iterator<Item = Hop> + '_ {
        let first = self.hop(from, destination);
        std::iter::successors(first, move |hop| self.hop(hop.to, destination)).take(self.nodes)
    }

    /// Whether packets at a node for a destination would never arrive and never be dropped.
    pub fn goes_in_circles(&self, node: usize, destination: usize) -> bool {
        self.path(node, destination).count() == self.nodes
    }

    /// Whether two nodes look for routes to each other on demand. Whether there is one only shows
    /// then.
    pub fn are_on_demand(&self, one: usize, other: usize) -> bool {
        let cell = |node: usize| self.topology.on_demand[node];
        cell(one).is_some() && cell(one) == cell(other)
    }

    /// Whether there is a route from one node to another, or may be one on demand.
    pub fn lead(&self, from: usize, to: usize) -> bool {
        from == to
            || self.are_on_demand(from, to)
            || self.path(from, to).last().is_some_and(|hop| hop.to == to)
    }

    /// What the routes lead over.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(nodes: usize, links: &[(usize, usize)]) -> Topology {
        let mut topology = Topology::new(nodes);
        for (first, second) in links {
            topology.join(*first, *second);
        }
        topology
    }

    #[test]
    fn the_shortest_way_is_taken_and_the_first_of_equal_ones() {
        // 0 - 1 - 2 - 3, 0 - 4 - 3, and 5 alone.
        let routes = Routes::shortest(topology(6, &[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]));
        assert_eq!(routes.interface(0, 3), Some(1));
        assert_eq!(routes.interface(0, 2), Some(0));
        assert_eq!(routes.interface(0, 5), None);
        assert_eq!(routes.interface(0, 0), None);
        assert_eq!(routes.interface(1, 3), Some(1));
        let links: Vec<usize> = routes.path(0, 3).map(|hop| hop.link).collect();
        assert_eq!(links, [3, 4]);
        assert!(routes.lead(0, 3) && routes.lead(5, 5) && !routes.lead(0, 5));
    }

    #[test]
    fn routes_by_hand_lead_elsewhere_or_nowhere_or_in_circles() {
        // A square, 0 - 1 - 3 - 2 - 0, and 4 alone.
        let mut routes = Routes::shortest(topology(5, &[(0, 1), (1, 3), (3, 2), (2, 0)]));
        routes.set(0, 3, 3);
        assert_eq!(routes.hop(0, 3), Some(Hop { to: 2, link: 3 }));
        assert!(routes.lead(0, 3) && !routes.goes_in_circles(0, 3));
        routes.set(2, 3, 3);
        assert!(!routes.lead(0, 3) && routes.goes_in_circles(0, 3) && routes.goes_in_circles(2, 3));
        routes.set(0, 4, 0);
        assert!(!routes.lead(0, 4) && !routes.goes_in_circles(0, 4), "node 1 has no route to node 4");
        routes.set(1, 2, 2);
        assert!(routes.lead(1, 2), "link 2 is none of node 1's");
    }

    #[test]
    fn nodes_on_demand_are_in_no_table_and_reach_their_own_cell() {
        let mut topology = topology(4, &[(0, 1), (1, 2), (2, 3)]);
        for (node, cell) in [(1, 7), (2, 7), (3, 8)] {
            topology.route_on_demand(node, cell);
        }
        let routes = Routes::shortest(topology);
        assert!(routes.lead(1, 2) && !routes.lead(2, 3) && !routes.lead(0, 2) && !routes.lead(1, 0));
    }
}
