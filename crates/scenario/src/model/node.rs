//! A node, and what it is to a scheme.

use std::time::Duration;

use lasthop_schemes::Role;
use lasthop_sim::NodeKind;
use lasthop_wifi::Position;

/// A node.
#[derive(Clone, Debug)]
pub struct NodeModel {
    /// Its name.
    pub name: String,
    /// What it does with packets.
    pub kind: NodeKind,
    /// Its role in a scheme; `None` lets its links decide
    /// ([`Scenario::role`](crate::Scenario::role)).
    pub role: Option<Role>,
    /// Time that it takes to forward a packet.
    pub processing_delay: Duration,
    /// Octets that may wait in all its interfaces together.
    pub buffer: Option<u64>,
    /// Where its radio stands.
    pub position: Position,
}

impl NodeModel {
    /// Its role in a scheme, if it has links of these kinds.
    pub(super) fn role_with(&self, wireless: bool, wired: bool) -> Role {
        self.role.unwrap_or(match (self.kind, wireless, wired) {
            (NodeKind::Host | NodeKind::External, true, _) => Role::MobileHost,
            (NodeKind::Host | NodeKind::External, false, _) => Role::FixedHost,
            (NodeKind::Router, true, false) => Role::Relay,
            (NodeKind::Router, true, true) => Role::Edge,
            (NodeKind::Router, false, _) => Role::Router,
        })
    }
}
