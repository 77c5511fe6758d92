//! Packets inside of nodes: in processing, and at external nodes those that have arrived.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Packet};

use crate::id::NodeId;
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;

/// By node.
#[derive(Default)]
pub(crate) struct Nodes {
    nodes: Vec<Inside>,
}

#[derive(Default)]
struct Inside {
    /// In processing, until when.
    processing: VecDeque<(Instant, PacketKey)>,
    /// Arrived at an external node, when.
    arrived: Vec<(Instant, Packet)>,
}

impl Nodes {
    /// Adds the next node.
    pub(crate) fn add(&mut self) {
        self.nodes.push(Inside::default());
    }

    /// A node processes a packet, which takes this long.
    pub(crate) fn process(&mut self, node: NodeId, key: PacketKey, delay: Duration, transit: &mut Transit) {
        let done = transit.now() + delay;
        let processing = &mut self.nodes[node.index()].processing;
        processing.push_back((done, key));
        if processing.len() == 1 {
            transit.schedule(done, Event::Processed(node));
        }
    }

    /// The packet that a node has processed.
    pub(crate) fn processed(&mut self, node: NodeId, transit: &mut Transit) -> Option<PacketKey> {
        let processing = &mut self.nodes[node.index()].processing;
        let (_, key) = processing.pop_front()?;
        if let Some((next, _)) = processing.front() {
            transit.schedule(*next, Event::Processed(node));
        }
        Some(key)
    }

    /// A packet has arrived at an external node.
    pub(crate) fn hand_out(&mut self, node: NodeId, key: PacketKey, transit: &mut Transit) {
        transit.accounts_mut().consumed += 1;
        let packet = transit.packets_mut().take(key);
        self.nodes[node.index()].arrived.push((transit.now(), packet));
    }

    /// Takes out what has arrived at an external node.
    pub(crate) fn take_arrived(&mut self, node: NodeId) -> Vec<(Instant, Packet)> {
        std::mem::take(&mut self.nodes[node.index()].arrived)
    }
}
