//! Packets for everybody in range: the limited broadcast address (RFC 919), one frame on each of a
//! node's radios.
//!
//! An agent watches interfaces to other nodes; a broadcast is for none of them, and passes by the
//! agents on both sides.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::Packet;

use super::World;
use crate::accounts::DropCause;
use crate::id::{LinkId, NodeId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::technology::Addressee;

/// Whether a packet is for everybody who hears it. Nobody forwards it.
pub(super) fn is_broadcast(packet: &Packet) -> bool {
    packet.ip().destination == IpAddr::V4(Ipv4Addr::BROADCAST)
}

impl World {
    /// A packet goes out on each radio of a node: the packet itself on the last one, a copy on each
    /// of the others. Only radios with a link count.
    #[cold]
    pub(super) fn broadcast(&mut self, node: NodeId, key: PacketKey) {
        let interfaces = self.network.node(node).interfaces.iter().enumerate();
        let radios = interfaces.filter(|(_, interface)| {
            let (links, port) = self.links.of(interface.egress);
            links.broadcasts(port)
        });
        let radios: Vec<usize> = radios.map(|(index, _)| index).collect();
        let Some((last, others)) = radios.split_last() else {
            self.drop_packet(node, key, DropCause::NoRoute);
            return;
        };
        for &radio in others {
            if let Some(copy) = self.transit.packets_mut().copy(key) {
                self.transit.accounts_mut().originated += 1;
                self.enqueue((node, radio), Addressee::Everyone, copy);
            }
        }
        self.enqueue((node, *last), Addressee::Everyone, key);
    }

    /// A station has heard a broadcast; `link` is the one between it and the sender, if there is
    /// one.
    #[cold]
    pub(super) fn hear_broadcast(&mut self, node: NodeId, link: Option<LinkId>, key: PacketKey) {
        let Some(copy) = self.transit.packets_mut().copy(key) else { return };
        self.transit.accounts_mut().heard += 1;
        self.transit.packets_mut().set_destination(copy, node);
        if let Some(link) = link {
            self.transit.trace(Interest::INTERFACES, copy, |packet| TraceEvent::InterfaceIn {
                node,
                link,
                packet,
            });
        }
        self.process(node, copy);
    }
}
