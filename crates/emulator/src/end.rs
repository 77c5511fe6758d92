//! An end of the model, with a real host.

use lasthop_sim::NodeId;

use super::device::Device;

/// A real host at an end of the model.
#[derive(Debug)]
pub struct End {
    /// The external node that represents the host.
    pub node: NodeId,
    /// The external node to which its packets go, on the shortest path.
    pub peer: NodeId,
    /// The host's device.
    pub device: Device,
}
