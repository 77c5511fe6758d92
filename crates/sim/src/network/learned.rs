//! Where the clients of an extended service set are, as far as each node has learned: what a bridge keeps in its
//! filtering database (IEEE 802.1Q, 8.8).
//!
//! The nodes of the *distribution system*, which joins the access points, learn. All others send what is for a
//! client to its *anchor*, one of the access points: on the way there is a node that has learned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::NodeId;
use crate::routing::Routes;

/// What nodes have learned of clients.
#[derive(Default)]
pub(super) struct Learned {
    clients: BTreeMap<NodeId, Client>,
    ways: BTreeMap<(NodeId, NodeId), Way>,
}

struct Client {
    anchor: NodeId,
    /// Nodes that learn where it is.
    learners: Arc<BTreeSet<NodeId>>,
    /// The interface through which it sends, while it is associated.
    default: Option<u16>,
}

/// The way from a node to a client.
#[derive(Clone, Copy)]
struct Way {
    /// `None`: the client was here, and has gone.
    interface: Option<u16>,
    /// The association that it was learned from; later ones have higher numbers.
    association: u64,
}

impl Learned {
    pub(super) fn add(&mut self, client: NodeId, anchor: NodeId, learners: Arc<BTreeSet<NodeId>>) {
        self.clients.insert(client, Client { anchor, learners, default: None });
    }

    pub(super) fn is_client(&self, node: NodeId) -> bool {
        self.clients.contains_key(&node)
    }

    /// A node learns where a client is. `false`: it has learned that, or of a later association.
    pub(super) fn learn(
        &mut self,
        (node, client): (NodeId, NodeId),
        interface: u16,
        association: u64,
        routes: &mut Routes,
    ) -> bool {
        let known = self.ways.get(&(node, client)).map_or(0, |way| way.association);
        if known >= association {
            return false;
        }
        self.ways.insert((node, client), Way { interface: Some(interface), association });
        routes.set_interface(node.index(), client.index(), Some(interface));
        true
    }

    /// A client that could be reached through this interface has gone.
    pub(super) fn forget(&mut self, (node, client): (NodeId, NodeId), interface: u16, routes: &mut Routes) {
        if let Some(way) = self.ways.get_mut(&(node, client))
            && way.interface == Some(interface)
        {
            way.interface = None;
            routes.set_interface(node.index(), client.index(), None);
        }
    }

    /// A client sends through this interface from now on; `None`: it is not associated.
    pub(super) fn set_default(&mut self, client: NodeId, interface: Option<u16>, routes: &mut Routes) {
        if let Some(state) = self.clients.get_mut(&client) {
            state.default = interface;
            routes.set_default(client.index(), interface);
        }
    }

    /// Adds what was learned to routes that were computed anew.
    pub(super) fn apply(&self, nodes: usize, routes: &mut Routes) {
        for (client, Client { anchor, learners, default }) in &self.clients {
            for node in (0..nodes).filter(|node| *node != client.index()) {
                if !learners.contains(&NodeId::from_index(node)) {
                    let way = routes.interface(node, anchor.index()).and_then(|it| u16::try_from(it).ok());
                    routes.set_interface(node, client.index(), way);
                }
            }
            routes.set_default(client.index(), *default);
        }
        for ((node, client), way) in &self.ways {
            routes.set_interface(node.index(), client.index(), way.interface);
        }
    }
}
