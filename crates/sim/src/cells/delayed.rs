//! Packets that have come through a cell, and are on their way to the node of their receiver.

use std::collections::{BTreeMap, VecDeque};

use crate::id::PortId;
use crate::packets::PacketKey;
use crate::technology::Output;

/// Packets by the port of their receiver that leads back to their sender; each link has one delay, so
/// they stay in order.
#[derive(Debug, Default)]
pub(super) struct Delayed {
    on_their_way: BTreeMap<PortId, VecDeque<PacketKey>>,
    /// What has arrived and is still to be told.
    arrived: Option<Output>,
}

impl Delayed {
    #[cold]
    pub(super) fn push(&mut self, port: PortId, key: PacketKey) {
        self.on_their_way.entry(port).or_default().push_back(key);
    }

    /// Takes the first packet on its way to a port, and has it told as `output` makes of it.
    #[cold]
    pub(super) fn arrive(&mut self, port: PortId, output: impl FnOnce(PacketKey) -> Output) {
        let first = self.on_their_way.get_mut(&port).and_then(VecDeque::pop_front);
        self.arrived = first.map(output);
    }

    /// What has arrived; told once.
    pub(super) fn take_arrived(&mut self) -> Option<Output> {
        self.arrived.take()
    }
}
