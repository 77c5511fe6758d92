//! The distribution system of a service set: the nodes on the ways between its access points. They learn where clients
//! are, as bridges do, from an announcement that the access point sends when it has associated a client: a frame in the
//! client's name to all bridges (IEEE 802.11F-2003, 4.3 and 6.1.2: the layer 2 update frame and the sequence number of
//! an association; hostapd sends such frames).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lasthop_ess::AccessPointId;

use crate::id::{LinkId, NodeId};

pub(crate) struct DistributionSystem {
    /// The links of each node that lead to other nodes in it, with these.
    neighbors: BTreeMap<NodeId, Vec<(LinkId, NodeId)>>,
    access_points: BTreeMap<NodeId, AccessPointId>,
}

impl DistributionSystem {
    /// The distribution system of these access points, which are joined by these links.
    pub(crate) fn new(
        access_points: &[NodeId],
        links: impl IntoIterator<Item = (LinkId, NodeId, NodeId)>,
    ) -> Self {
        let mut neighbors: BTreeMap<NodeId, Vec<(LinkId, NodeId)>> =
            access_points.iter().map(|node| (*node, Vec::new())).collect();
        for (link, first, second) in links {
            for (node, other) in [(first, second), (second, first)] {
                let of_node = neighbors.entry(node).or_default();
                if !of_node.contains(&(link, other)) {
                    of_node.push((link, other));
                }
            }
        }
        let numbered = access_points.iter().enumerate();
        let access_points = numbered.map(|(index, node)| (*node, AccessPointId(index as u32))).collect();
        Self { neighbors, access_points }
    }

    /// All its nodes.
    pub(crate) fn nodes(&self) -> Arc<BTreeSet<NodeId>> {
        Arc::new(self.neighbors.keys().copied().collect())
    }

    /// The links of a node that lead to other nodes in it, with these.
    pub(crate) fn neighbors(&self, node: NodeId) -> &[(LinkId, NodeId)] {
        self.neighbors.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The access point at a node.
    pub(crate) fn access_point(&self, node: NodeId) -> Option<AccessPointId> {
        self.access_points.get(&node).copied()
    }
}
