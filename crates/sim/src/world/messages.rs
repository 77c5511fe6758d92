//! Messages between agents: UDP datagrams on the way that any packet takes, from node to node.

use std::net::IpAddr;

use bytes::Bytes;
use lasthop_packet::{Ip, Packet, Payload, Transport, Udp};

use super::World;
use crate::id::{AgentId, NodeId};
use crate::packets::PacketKey;

/// The UDP port that agents have their messages from and to.
pub const MESSAGE_PORT: u16 = 7654;

impl World {
    /// Sends a message of an agent's to the agents at a node.
    pub(super) fn tell_peer(&mut self, from: AgentId, peer: IpAddr, message: Bytes) {
        let node = self.seats.agents[from.index()].node;
        let udp = Udp { source_port: MESSAGE_PORT, destination_port: MESSAGE_PORT };
        let ip = Ip::new(self.node_address(node), peer);
        let packet = Packet::new(ip, Transport::Udp(udp), Payload::Bytes(message));
        let key = self.transit.packets_mut().insert_message(packet);
        if self.originate(node, key) {
            self.route(node, key, from);
        }
    }

    /// Gives a message to the agents at its destination.
    pub(super) fn deliver_message(&mut self, node: NodeId, key: PacketKey) {
        let here: Vec<AgentId> = self.seats.at(node).collect();
        if here.is_empty() || self.transit.packets().is_damaged(key) {
            self.drop_unclaimed(node, key);
            return;
        }
        self.transit.accounts_mut().consumed += 1;
        let packet = self.transit.packets_mut().take(key);
        let octets = packet.payload().octets();
        for id in here {
            self.call_agent(id, |agent, cx| agent.on_message(packet.ip().source, &octets, cx));
        }
    }
}
