//! An end of the model: where a real host stands.

use lasthop_sim::NodeId;

use super::device::Device;

/// A real host at an end of the model.
#[derive(Debug)]
pub struct End {
    /// The external node that stands for it.
    pub node: NodeId,
    /// The external node where its packets go, the shortest way.
    pub peer: NodeId,
    /// Its device.
    pub device: Device,
}
