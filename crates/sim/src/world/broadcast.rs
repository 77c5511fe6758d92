//! Packets for everybody in range: the limited broadcast address (RFC 919), one frame on each of a
//! node's radios.
//!
//! An agent watches interfaces to other nodes; a broadcast is for none of them, and passes by the
//! agents on both sides.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::Packet;

use super::{Egress, World};
use crate::accounts::DropCause;
use crate::id::{LinkId, NodeId, PortId};
use crate::observe::{Interest, TraceEvent};
use crate::parcel::ParcelKey;

/// Whether a packet is for everybody who hears it. Nobody forwards it.
pub(super) fn is_broadcast(packet: &Packet) -> bool {
    packet.ip().destination == IpAddr::V4(Ipv4Addr::BROADCAST)
}

impl World {
    /// A parcel goes out on each radio of a node: the parcel itself on the last one, a copy on each
    /// of the others. Only radios with a link count.
    #[cold]
    pub(super) fn broadcast(&mut self, node: NodeId, key: ParcelKey) {
        let radios: Vec<(LinkId, PortId)> = self.nodes[node.index()]
            .interfaces
            .iter()
            .filter_map(|interface| match interface.egress {
                Egress::Radio(port) if self.ports[port.index()].is_first => Some((interface.link, port)),
                _ => None,
            })
            .collect();
        let Some((last, others)) = radios.split_last() else {
            self.drop_parcel(node, key, DropCause::NoRoute);
            return;
        };
        for radio in others {
            if let Some(copy) = self.parcels.copy(key) {
                self.accounts.originated += 1;
                self.broadcast_on(node, *radio, copy);
            }
        }
        self.broadcast_on(node, *last, key);
    }

    fn broadcast_on(&mut self, node: NodeId, (link, port): (LinkId, PortId), key: ParcelKey) {
        let len = self.parcels[key].len();
        let buffer = self.nodes[node.index()].buffer;
        if buffer.is_some_and(|buffer| self.lacks_room(node, Egress::Radio(port), len, buffer)) {
            self.drop_parcel(node, key, DropCause::QueueFull);
            return;
        }
        if self.wants(Interest::INTERFACES) {
            let event = TraceEvent::InterfaceOut { node, link, packet: self.parcels[key].packet() };
            super::tell(&mut self.observers, self.now, &event);
        }
        self.broadcast_by_radio(node, port, key);
    }

    /// A station has heard a broadcast; `link` is the one between it and the sender, if there is
    /// one.
    #[cold]
    pub(super) fn hear_broadcast(&mut self, node: NodeId, link: Option<LinkId>, key: ParcelKey) {
        let Some(copy) = self.parcels.copy(key) else { return };
        self.accounts.heard += 1;
        self.parcels[copy].destination = node;
        if let Some(link) = link
            && self.wants(Interest::INTERFACES)
        {
            let event = TraceEvent::InterfaceIn { node, link, packet: self.parcels[copy].packet() };
            super::tell(&mut self.observers, self.now, &event);
        }
        self.process(node, copy);
    }
}
