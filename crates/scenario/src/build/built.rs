//! A world that was built from a scenario.

use lasthop_sim::{FlowId, LinkId, NodeId, ServiceSetId, SessionId, StationId, WlanId, World};

/// A world, and its ids in the scenario's order.
pub struct Built {
    /// The world at time zero.
    pub world: World,
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Its links.
    pub links: Vec<LinkId>,
    /// Its 802.11 cells, each with its stations.
    pub wlans: Vec<BuiltWlan>,
    /// Its flows.
    pub flows: Vec<FlowId>,
    /// Its sessions.
    pub sessions: Vec<SessionId>,
}

/// An 802.11 cell in a world.
pub struct BuiltWlan {
    /// The cell.
    pub wlan: WlanId,
    /// Its stations, in the scenario's order.
    pub stations: Vec<StationId>,
    /// Its access points and their clients, if clients roam.
    pub service_set: Option<ServiceSetId>,
}
