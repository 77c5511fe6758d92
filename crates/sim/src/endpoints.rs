//! Which endpoint of a host a packet is for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lasthop_packet::{Packet, Quotation, Transport};
use lasthop_tcp::connection::Socket;

use crate::id::NodeId;

/// Endpoints of one transport by node, then by local port, remote port and remote address.
pub(crate) struct Endpoints<T>(Vec<OfNode<T>>);

struct OfNode<T> {
    by_key: BTreeMap<Key, T>,
    /// The endpoint found last, which is most often the next one, too.
    recent: Option<(Key, T)>,
    /// A cache for packets of many endpoints in turn: each endpoint found, in the place of its ports until
    /// another one takes that. A power of two: about as many places as there are endpoints.
    found: Vec<Option<(Key, T)>>,
}

/// The maximum number of places.
const MAX_FOUND: usize = 1024;

/// Local port, remote port and remote address.
type Key = (u16, u16, IpAddr);

impl<T> Default for Endpoints<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Endpoints<T> {
    pub(crate) fn add(&mut self, node: NodeId, (local, remote): (Socket, Socket), endpoint: T) {
        if self.0.len() <= node.index() {
            self.0.resize_with(node.index() + 1, || OfNode {
                by_key: BTreeMap::new(),
                recent: None,
                found: Vec::new(),
            });
        }
        let of_node = &mut self.0[node.index()];
        of_node.by_key.insert((local.1, remote.1, remote.0), endpoint);
        let places = of_node.by_key.len().next_power_of_two().min(MAX_FOUND);
        if of_node.found.len() < places {
            of_node.found = vec![None; places];
        }
    }

    pub(crate) fn remove(&mut self, node: NodeId, (local, remote): (Socket, Socket)) {
        let Some(of_node) = self.0.get_mut(node.index()) else { return };
        let key = (local.1, remote.1, remote.0);
        of_node.by_key.remove(&key);
        of_node.recent = None;
        if let Some(place) = of_node.place(key) {
            *place = None;
        }
    }

    /// The endpoint with this local port for this remote end.
    pub(crate) fn get(&self, node: NodeId, local_port: u16, remote: Socket) -> Option<T> {
        let key = (local_port, remote.1, remote.0);
        self.0.get(node.index())?.by_key.get(&key).copied()
    }

    /// The remote end of an endpoint is known by another address and port.
    pub(crate) fn rename(&mut self, node: NodeId, (local, remote): (Socket, Socket), known_as: Socket) {
        if let Some(endpoint) = self.get(node, local.1, remote) {
            self.remove(node, (local, remote));
            self.add(node, (local, known_as), endpoint);
        }
    }

    /// Whether there is an endpoint with this local port for this remote end.
    pub(crate) fn has(&self, node: NodeId, local_port: u16, remote: Socket) -> bool {
        let key = (local_port, remote.1, remote.0);
        self.0.get(node.index()).is_some_and(|of_node| of_node.by_key.contains_key(&key))
    }

    /// The endpoint at a node that a segment, or an ICMP message, is for.
    #[inline]
    pub(crate) fn of(&mut self, node: NodeId, packet: &Packet) -> Option<T> {
        let of_node = self.0.get_mut(node.index())?;
        if let Some(((local, remote, address), endpoint)) = &of_node.recent
            && let Transport::Tcp(tcp) = packet.transport()
            && (*local, *remote) == (tcp.destination_port, tcp.source_port)
            && *address == packet.ip().source
        {
            return Some(*endpoint);
        }
        of_node.find_anew(key_of(packet)?)
    }

    /// As [`Self::of`], among endpoints over UDP.
    pub(crate) fn of_datagram(&mut self, node: NodeId, packet: &Packet) -> Option<T> {
        let key = match packet.transport() {
            Transport::Udp(udp) => (udp.destination_port, udp.source_port, packet.ip().source),
            _ => key_of(packet)?,
        };
        self.0.get_mut(node.index())?.find_anew(key)
    }
}

impl<T: Copy> OfNode<T> {
    #[inline]
    fn place(&mut self, (local, remote, _): Key) -> Option<&mut Option<(Key, T)>> {
        let place = usize::from(local ^ remote) & self.found.len().wrapping_sub(1);
        self.found.get_mut(place)
    }

    /// Finds one that was not the last to be found.
    #[inline]
    fn find_anew(&mut self, key: Key) -> Option<T> {
        let endpoint = self.find(key)?;
        self.recent = Some((key, endpoint));
        Some(endpoint)
    }

    #[inline(never)]
    fn find(&mut self, key: Key) -> Option<T> {
        if let Some((found, endpoint)) = *self.place(key)?
            && found == key
        {
            return Some(endpoint);
        }
        let endpoint = self.by_key.get(&key).copied()?;
        *self.place(key)? = Some((key, endpoint));
        Some(endpoint)
    }
}

/// Which endpoint of its destination a packet is for.
fn key_of(packet: &Packet) -> Option<Key> {
    match packet.transport() {
        Transport::Tcp(tcp) => Some((tcp.destination_port, tcp.source_port, packet.ip().source)),
        Transport::Icmp(_) => Quotation::from_message(packet).map(|Quotation { flow, .. }| {
            let (local, remote) = (flow.source, flow.destination);
            (local.1, remote.1, remote.0)
        }),
        Transport::Udp(_) | Transport::Opaque { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_packet::{Ip, Payload, Tcp};

    use super::*;

    #[test]
    fn each_of_many_endpoints_is_found_until_it_is_removed() {
        let node = NodeId(0);
        let address = |host: u16| IpAddr::from(Ipv4Addr::from(0x0a00_0000 + u32::from(host)));
        let (local, count) = ((address(0), 5001), 3000);
        // Two hosts each have the same ports.
        let remote = |number: u16| (address(1 + number % 2), 10_000 + number / 2);
        let mut endpoints = Endpoints::default();
        (0..count).for_each(|number| endpoints.add(node, (local, remote(number)), number));
        for removed in [0, count / 2] {
            for number in 0..removed {
                endpoints.remove(node, (local, remote(number)));
            }
            for _ in 0..2 {
                for number in 0..count {
                    let (source, source_port) = remote(number);
                    let tcp = Tcp { source_port, destination_port: local.1, ..Tcp::default() };
                    let packet = Packet::tcp_segment(
                        Ip::new(source, local.0),
                        tcp,
                        Payload::Stream { stream: 1, offset: 0, len: 0 },
                    );
                    assert_eq!(endpoints.of(node, &packet), (number >= removed).then_some(number));
                }
            }
        }
    }
}
