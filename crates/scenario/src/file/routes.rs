//! Static routes, and the stations that may have routes on demand.

use super::node::NodeTable;
use super::reader::Reader;
use crate::model::{GivenRoute, LinkModel, NodeModel, WlanModel};
use lasthop_config::FileError;
use std::collections::BTreeMap;

/// The static routes of the file: node, destination, neighbor.
pub(super) fn written(nodes: &BTreeMap<String, NodeTable>) -> Vec<[String; 3]> {
    let of_node = |(node, table): (&String, &NodeTable)| {
        let routes = table.routes.iter();
        let routes = routes.map(|(destination, next)| [node.clone(), destination.clone(), next.clone()]);
        routes.collect::<Vec<_>>()
    };
    nodes.iter().flat_map(of_node).collect()
}

pub(super) fn read(
    reader: &Reader<'_>,
    written: Vec<[String; 3]>,
    links: &[LinkModel],
    wlans: &[WlanModel],
) -> Result<Vec<GivenRoute>, FileError> {
    let mut routes = Vec::new();
    for [at, to, next] in written {
        let key = ["nodes", at.as_str(), "routes", to.as_str()];
        let (node, _) = reader.node(&key, &at)?;
        let (destination, _) = reader.node(&key, &to)?;
        let (neighbour, _) = reader.node(&key, &next)?;
        if destination == node {
            return Err(reader.fail(&key, "a route from a node to itself; expected another destination"));
        }
        if let Some(cell) = on_demand(wlans, node) {
            let problem = format!(
                "stations of {:?} discover routes on demand; expected no static route, or a cell without `routing`",
                cell.name
            );
            return Err(reader.fail(&key, problem));
        }
        let joins = |link: &LinkModel| link.ends == (node, neighbour) || link.ends == (neighbour, node);
        let Some(link) = links.iter().position(joins) else {
            let problem = format!(
                "{next:?} is not a neighbor of {at:?}; expected a node at the other end of one of its links"
            );
            return Err(reader.fail(&key, problem));
        };
        routes.push(GivenRoute { node, destination, link });
    }
    Ok(routes)
}

/// Refuses other links at stations with routing on demand: gateways to other networks (RFC 3561,
/// section 8) are not modeled.
pub(super) fn refuse_gateways(
    reader: &Reader<'_>,
    nodes: &[NodeModel],
    links: &[LinkModel],
    wlans: &[WlanModel],
) -> Result<(), FileError> {
    for (index, cell) in wlans.iter().enumerate().filter(|(_, cell)| cell.routing.is_some()) {
        let is_station = |node: usize| cell.stations.iter().any(|station| station.node == node);
        for link in links.iter().filter(|link| !link.link.is_of_cell(index)) {
            let Some(node) = [link.ends.0, link.ends.1].into_iter().find(|node| is_station(*node)) else {
                continue;
            };
            let problem = format!(
                "station {:?} also has the link {:?}, and AODV does not lead out of its cell here; expected stations without other \
                 links",
                nodes[node].name,
                link.name()
            );
            return Err(reader.fail(&["wlans", &cell.name, "routing"], problem));
        }
    }
    Ok(())
}

/// The cell in whose routing on demand a node participates.
fn on_demand(wlans: &[WlanModel], node: usize) -> Option<&WlanModel> {
    let is_station = |cell: &&WlanModel| cell.stations.iter().any(|station| station.node == node);
    wlans.iter().filter(|cell| cell.routing.is_some()).find(is_station)
}
