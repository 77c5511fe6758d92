//! The nodes of a scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use super::nat::{self, NatTable};
use super::pair;
use super::quantity::{Metres, Octets, Text, Whole};
use super::reader::Reader;
use crate::model::{NatModel, NodeModel};
use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_schemes::Role;
use lasthop_sim::NodeKind;
use lasthop_wifi::Position;
use schemars::JsonSchema;
use serde::Deserialize;

/// Routes take memory by the square of the number of nodes: 5,000 nodes take 50 MB.
const MAX_NODES: usize = 5_000;

/// A node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NodeTable {
    /// A host has TCP endpoints. Hosts and routers forward packets for other nodes. An external
    /// node stands for a real host in `lasthop emulate`.
    kind: Kind,
    /// The role of the node in a scheme. Default: a host with a wireless link is a mobile host, and
    /// a host without one is a fixed host. A router with both wired and wireless links is an edge,
    /// one with wireless links only is a relay, and one with wired links only is a router.
    role: Option<Role>,
    /// Time that the node takes to forward a packet, at most "1 h"; default "0 s".
    processing_delay: Option<Text<Duration>>,
    /// The most data that may wait in all its interfaces together. Default: no limit other than
    /// that of the queues.
    buffer: Option<Text<Octets>>,
    /// Position of its radio, east and north, for `wlans` with distance-based propagation; default
    /// `["0 m", "0 m"]`.
    #[serde(default, deserialize_with = "pair::optional")]
    position: Option<[Text<Metres>; 2]>,
    /// Static routes from this node: the neighbor to send to, by destination. They take precedence
    /// over the shortest path.
    #[serde(default)]
    pub(super) routes: BTreeMap<String, String>,
    /// Translation of addresses, by a router; default none.
    nat: Option<NatTable>,
    /// The number of nodes like this one, 1 to 5,000, with the names "NAME-1", "NAME-2", and so on.
    /// A flow, a link or a cell that names "NAME" means each of them.
    #[serde(rename = "count")]
    #[expect(dead_code, reason = "groups are recognized before tables are read")]
    count: Option<Whole<1, 5_000>>,
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Host,
    Router,
    External,
}

/// The tables of routers that translate, by the nodes' names.
pub(super) fn translators(nodes: &BTreeMap<String, NodeTable>) -> Vec<(String, NatTable)> {
    nodes.iter().filter_map(|(name, table)| Some((name.clone(), table.nat.clone()?))).collect()
}

/// The nodes, in the order of the file.
pub(super) fn read(
    reader: &Reader<'_>,
    tables: BTreeMap<String, NodeTable>,
) -> Result<Vec<NodeModel>, FileError> {
    let tables = reader.in_order("nodes", tables, MAX_NODES)?;
    if tables.len() < 2 {
        return Err(
            reader.fail(&["nodes"], format!("{}; expected at least 2", counted(tables.len() as u64, "node")))
        );
    }
    let mut nodes = Vec::new();
    for (name, table) in tables {
        let kind = match table.kind {
            Kind::Host => NodeKind::Host,
            Kind::Router => NodeKind::Router,
            Kind::External => NodeKind::External,
        };
        let key = ["nodes", &name, "processing-delay"];
        let processing_delay = reader.delay(&key, table.processing_delay)?;

        let buffer = table.buffer.map(|Text(buffer)| buffer.0);
        let position = table
            .position
            .map_or_else(Position::default, |[Text(east), Text(north)]| Position::new(east.0, north.0));
        let key = ["nodes", &name, "nat"];
        let nat = table.nat.as_ref().map(|table| nat::settings(reader, &key, table)).transpose()?;
        // The neighbors outside are found when there are links.
        let nat = nat.map(|config| NatModel { config, outside: Vec::new() });
        nodes.push(NodeModel { name, kind, role: table.role, processing_delay, buffer, position, nat });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn roles_are_read_by_the_names_that_schemes_print() {
        for (role, name) in Role::ALL {
            let read = Role::deserialize(StrDeserializer::<Error>::new(name));
            assert_eq!(read, Ok(role));
        }
    }
}
