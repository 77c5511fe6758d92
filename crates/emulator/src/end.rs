//! An end of the model, with a real host.

use lasthop_sim::NodeId;

use super::device::Device;

/// A real host at an end of the model.
#[derive(Debug)]
pub struct End {
    /// The external node that represents the host.
    pub node: NodeId,
    /// Where its packets go.
    pub peer: Peer,
    /// The host's device.
    pub device: Device,
}

/// Where the packets of a host go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// To this external node, on the shortest path, whatever their addresses are.
    Node(NodeId),
    /// To the node of the model that has their destination's address: the host is a router to nodes of the model.
    Addressed,
    /// Where the associations of a service set lead, of which the host is a station
    /// ([`World::inject_at_station`](lasthop_sim::World::inject_at_station)).
    Associated,
}
