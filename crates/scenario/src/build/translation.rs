//! Nodes that translate addresses: from the scenario to the world.

use std::net::IpAddr;

use lasthop_sim::routing::Routes;
use lasthop_sim::{LinkId, NatConfig, NodeId, World};

use crate::model::{Scenario, WlanModel};

/// The side of a translator on which a neighbor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
}

impl Scenario {
    /// Adds translators to nodes, which reading has checked.
    pub(super) fn translate(&self, world: &mut World, nodes: &[NodeId], links: &[LinkId]) {
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(nat) = &node.nat else { continue };
            let is_inside = |ends: (usize, usize)| {
                (ends.0 == index && !nat.outside.contains(&ends.1))
                    || (ends.1 == index && !nat.outside.contains(&ends.0))
            };
            let inside = self.links.iter().zip(links).filter(|(link, _)| is_inside(link.ends));
            let inside: Vec<LinkId> = inside.map(|(_, id)| *id).collect();
            translate_at(world, nodes[index], &inside, &nat.config);
        }
        for cell in &self.wlans {
            let Some(nat) = cell.roaming.as_ref().and_then(|roaming| roaming.nat.as_ref()) else { continue };
            for access_point in cell.access_points() {
                translate_at(world, nodes[access_point], &[], &nat.config);
            }
        }
    }

    /// A node on the way from one node to another that translates packets on it.
    pub(super) fn translator_between(&self, routes: &Routes, from: usize, to: usize) -> Option<usize> {
        let way: Vec<usize> = std::iter::once(from).chain(routes.path(from, to).map(|hop| hop.to)).collect();
        let translates = |step: &&[usize]| {
            let [before, node, after] = step else { return false };
            self.side(*node, *before) != self.side(*node, *after)
        };
        way.windows(3).find(translates).map(|step| step[1])
    }

    /// The side on which a neighbor of a node is; `None` if the node does not translate.
    fn side(&self, node: usize, neighbor: usize) -> Option<Side> {
        let outside = |is_outside| if is_outside { Side::Outside } else { Side::Inside };
        if let Some(nat) = &self.nodes[node].nat {
            return Some(outside(nat.outside.contains(&neighbor)));
        }
        let is_access_point = |cell: &&WlanModel| {
            cell.roaming.as_ref().is_some_and(|roaming| roaming.nat.is_some())
                && cell.access_points().any(|access_point| access_point == node)
        };
        let cell = self.wlans.iter().find(is_access_point)?;
        let clients = cell.stations.iter().skip(cell.access_points().count());
        Some(outside(!clients.into_iter().any(|client| client.node == neighbor)))
    }

    /// Whether a node is on the inside of a translator, from which packets reach it untranslated.
    pub(super) fn is_inside_of(&self, routes: &Routes, node: usize, translator: usize) -> bool {
        let way: Vec<usize> =
            std::iter::once(node).chain(routes.path(node, translator).map(|hop| hop.to)).collect();
        let last = way.iter().rev().nth(1);
        way.last() == Some(&translator)
            && last.is_some_and(|last| self.side(translator, *last) == Some(Side::Inside))
            && self.translator_between(routes, node, translator).is_none()
    }
}

/// A node translates with its own address as the outside one.
fn translate_at(world: &mut World, node: NodeId, inside: &[LinkId], config: &NatConfig) {
    let outside = match world.node_address(node) {
        IpAddr::V4(address) => vec![address],
        IpAddr::V6(_) => Vec::new(),
    };
    let config = NatConfig { outside, ..config.clone() };
    // Reading has checked that it is a router, and that the links are its own.
    world.translate(node, inside, config).expect("a router that can translate");
}
