//! Announcements of clients: an access point that has associated a client tells the distribution system. Until the
//! announcement has come to a node, packets for the client go where it was before.

use std::net::Ipv4Addr;

use bytes::Bytes;
use lasthop_ess::{AccessPointId, ClientId};
use lasthop_packet::{Ip, Packet, Payload, Transport, Udp};

use super::World;
use crate::config::NodeKind;
use crate::id::{LinkId, NodeId, ServiceSetId};
use crate::packets::PacketKey;
use crate::service_sets::Association;
use crate::technology::Addressee;

/// The UDP port of announcements. Real ones have no IP header; they are as long.
const ANNOUNCEMENT_PORT: u16 = 3517;

impl World {
    /// A node tells its neighbors in the distribution system where a client is; not the one that it knows it from.
    pub(super) fn announce(
        &mut self,
        node: NodeId,
        known_from: Option<LinkId>,
        of: Association,
        number: u64,
    ) {
        if self.network.kind(node) == NodeKind::External {
            self.announce_to_host(node, of, number);
            return;
        }
        let neighbors = self.service_sets.distribution(of.set).neighbors(node).to_vec();
        for (link, neighbor) in neighbors.into_iter().filter(|(link, _)| Some(*link) != known_from) {
            let Some(interface) = self.network.interface_to(node, link) else { continue };
            let announcement = Announcement { via: link, of, number };
            let ip = Ip::new(self.node_address(node), self.node_address(neighbor));
            let key = self.transit.packets_mut().insert_message(announcement.packet(ip));
            self.originate_to(neighbor, key);
            self.enqueue((node, interface), Addressee::Peer, key);
        }
    }

    /// Whether a message that has reached a node is an announcement; if so, the node has learned from it.
    pub(super) fn takes_announcement(&mut self, node: NodeId, key: PacketKey) -> bool {
        if !self.service_sets.are_any() {
            return false;
        }
        let packet = self.transit.packet(key);
        let Some(announcement) = Announcement::read(packet) else { return false };
        self.transit.accounts_mut().consumed += 1;
        self.transit.packets_mut().remove(key);
        self.learn_from(node, &announcement);
        true
    }

    /// A node learns where a client is, and passes that on.
    fn learn_from(&mut self, node: NodeId, &Announcement { via, of, number }: &Announcement) {
        let (client, _) = self.service_sets.client(of.set, of.client);
        let Some(interface) = self.network.interface_to(node, via) else { return };
        if !self.network.learn((node, interface), client.node, number) {
            return;
        }
        self.announce(node, Some(via), of, number);
        self.leave_to(node, of);
    }

    /// An access point learns that a client has associated with another one.
    fn leave_to(&mut self, node: NodeId, of: Association) {
        if let Some(access_point) = self.service_sets.distribution(of.set).access_point(node) {
            let gone = Association { access_point, ..of };
            self.send_after(gone, of.access_point);
            self.service_sets.remove(gone, &mut self.transit);
            self.carry_out_actions();
        }
    }
}

/// Stations of a service set that are real hosts. The distribution system is a network of real bridges, which learn the
/// way to a client from the frame that announces it.
impl World {
    /// As [`Self::inject_to`], at an external node that is a station of a service set: what a client sends goes to its
    /// access point, what an access point sends to the client with that address. An announcement of a client, which
    /// comes from another access point through its host ([`Self::collect`]), ends its association here. An access point
    /// receives what bridges flood, too: what is for none of its clients ends here.
    pub fn inject_at_station(&mut self, node: NodeId, packet: Packet) {
        if self.network.is_roaming_client(node) {
            let Some(interface) = self.network.interfaces(node).first() else { return };
            let (access_point, _) = self.network.link_ends(interface.link);
            self.inject_to(node, access_point, packet);
        } else if let Some(announcement) = self.announcement_from_host(node, &packet) {
            // The way that it came is not the world's.
            let Announcement { via, of, number } = announcement;
            let (client, _) = self.service_sets.client(of.set, of.client);
            if let Some(interface) = self.network.interface_to(node, via)
                && self.network.learn((node, interface), client.node, number)
            {
                self.leave_to(node, of);
            }
        } else if let Some(client) = self.network.resolve(&packet.ip().destination)
            && self.network.is_roaming_client(client)
        {
            self.inject_to(node, client, packet);
        }
    }

    /// The host of an access point sends an announcement to all.
    fn announce_to_host(&mut self, node: NodeId, of: Association, number: u64) {
        let (client, via) = self.service_sets.client(of.set, of.client);
        let ip = Ip::new(self.node_address(client.node), Ipv4Addr::BROADCAST.into());
        let announcement = Announcement { via, of, number };
        let key = self.transit.packets_mut().insert(announcement.packet(ip));
        self.transit.accounts_mut().originated += 1;
        self.nodes.hand_out(node, key, &mut self.transit);
    }

    /// The announcement that a host's packet is. Hosts can send anything.
    fn announcement_from_host(&self, node: NodeId, packet: &Packet) -> Option<Announcement> {
        let announcement = Announcement::read(packet)?;
        let Announcement { via, of, .. } = announcement;
        if !self.service_sets.has(of) {
            return None;
        }
        let (client, link) = self.service_sets.client(of.set, of.client);
        let is_its = packet.ip().source == self.node_address(client.node) && via == link;
        let own = self.service_sets.distribution(of.set).access_point(node)?;
        (is_its && own != of.access_point).then_some(announcement)
    }
}

/// An access point announces a client.
struct Announcement {
    /// The link by which it comes to a node.
    via: LinkId,
    of: Association,
    number: u64,
}

impl Announcement {
    fn octets(&self) -> Bytes {
        let Association { set, client, access_point } = self.of;
        let words = [self.via.0, set.0, client.0, access_point.0];
        let octets = words.into_iter().flat_map(u32::to_be_bytes).chain(self.number.to_be_bytes());
        octets.collect()
    }

    fn packet(&self, ip: Ip) -> Packet {
        let udp = Udp { source_port: ANNOUNCEMENT_PORT, destination_port: ANNOUNCEMENT_PORT };
        Packet::new(ip, Transport::Udp(udp), Payload::Bytes(self.octets()))
    }

    fn read(packet: &Packet) -> Option<Self> {
        let Transport::Udp(Udp { destination_port: ANNOUNCEMENT_PORT, .. }) = packet.transport() else {
            return None;
        };
        let octets = packet.payload().octets();
        let (words, number) = octets.split_at_checked(16)?;
        let mut words =
            words.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        let mut next = || words.next();
        Some(Self {
            via: LinkId(next()?),
            of: Association {
                set: ServiceSetId(next()?),
                client: ClientId(next()?),
                access_point: AccessPointId(next()?),
            },
            number: u64::from_be_bytes(number.try_into().ok()?),
        })
    }
}
