//! The largest use of a world's memory, for the message of a run that grew too large.

use super::World;
use crate::id::{LinkId, NodeId};
use crate::packets::Packets;

/// Something in a world that holds packets, or what agents keep of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The queue of an interface.
    Queue {
        /// The sending node.
        node: NodeId,
        /// The link.
        link: LinkId,
        /// Packets that wait.
        packets: u64,
    },
    /// Packets on links and in the processing of nodes: what is in no queue.
    OnTheWay {
        /// Packets.
        packets: u64,
    },
    /// An agent.
    Agent {
        /// Its node.
        node: NodeId,
        /// Octets of memory that it takes.
        octets: u64,
    },
}

impl Holding {
    /// About how many octets of memory it takes.
    pub const fn octets(&self) -> u64 {
        match self {
            Self::Queue { packets, .. } | Self::OnTheWay { packets } => {
                packets.saturating_mul(Packets::OCTETS_EACH)
            }
            Self::Agent { octets, .. } => *octets,
        }
    }
}

impl World {
    /// The queue, the agent, or the packets in transit that take most memory; `None` in an empty
    /// world.
    pub fn largest_holding(&mut self) -> Option<Holding> {
        let queues = self.queues();
        let waiting: u64 = queues.iter().map(|(_, _, packets)| packets).sum();
        let on_the_way = (self.transit.packets().count() as u64).saturating_sub(waiting);
        let agents = self.seats.octets().map(|(node, octets)| Holding::Agent { node, octets });
        let queues = queues.into_iter().map(|(node, link, packets)| Holding::Queue { node, link, packets });
        let all = queues.chain([Holding::OnTheWay { packets: on_the_way }]).chain(agents);
        all.max_by_key(Holding::octets).filter(|largest| largest.octets() > 0)
    }

    /// The queue of each interface, a shared one once, with the packets in it.
    fn queues(&mut self) -> Vec<(NodeId, LinkId, u64)> {
        let now = self.transit.now();
        let mut queues = Vec::new();
        for (node, interface) in self.network.all_interfaces() {
            let (links, port) = self.links.of_mut(interface.egress);
            if links.queue_of(port) == port {
                let (packets, _) = links.queue(port, now);
                queues.push((node, interface.link, packets as u64));
            }
        }
        queues
    }
}
