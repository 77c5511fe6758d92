//! Which endpoint of a host a packet is for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lasthop_packet::{Packet, Quotation, Transport};
use lasthop_tcp::connection::Endpoint;

use crate::id::NodeId;

/// TCP endpoints by node, then by local port, remote port and remote address.
pub(crate) struct Endpoints<T>(Vec<OfNode<T>>);

struct OfNode<T> {
    by_key: BTreeMap<Key, T>,
    /// The one that was found last, which is most often the next one, too.
    recent: Option<(Key, T)>,
}

/// Local port, remote port and remote address.
type Key = (u16, u16, IpAddr);

impl<T> Default for Endpoints<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Endpoints<T> {
    pub(crate) fn add(&mut self, node: NodeId, (local, remote): (Endpoint, Endpoint), endpoint: T) {
        if self.0.len() <= node.index() {
            self.0.resize_with(node.index() + 1, || OfNode { by_key: BTreeMap::new(), recent: None });
        }
        self.0[node.index()].by_key.insert((local.1, remote.1, remote.0), endpoint);
    }

    pub(crate) fn remove(&mut self, node: NodeId, (local, remote): (Endpoint, Endpoint)) {
        let Some(of_node) = self.0.get_mut(node.index()) else { return };
        of_node.by_key.remove(&(local.1, remote.1, remote.0));
        of_node.recent = None;
    }

    /// Whether there is an endpoint with this local port for this remote end.
    pub(crate) fn has(&self, node: NodeId, local_port: u16, remote: Endpoint) -> bool {
        let key = (local_port, remote.1, remote.0);
        self.0.get(node.index()).is_some_and(|of_node| of_node.by_key.contains_key(&key))
    }

    /// The endpoint at a node that a packet is for.
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
        let key = key_of(packet)?;
        let endpoint = of_node.by_key.get(&key).copied()?;
        of_node.recent = Some((key, endpoint));
        Some(endpoint)
    }
}

/// Which endpoint of its destination a packet is for.
fn key_of(packet: &Packet) -> Option<Key> {
    match packet.transport() {
        Transport::Tcp(tcp) => Some((tcp.destination_port, tcp.source_port, packet.ip().source)),
        Transport::Icmp(_) => Quotation::of(packet).map(|Quotation { flow, .. }| {
            let (local, remote) = (flow.source, flow.destination);
            (local.1, remote.1, remote.0)
        }),
        Transport::Udp(_) | Transport::Opaque { .. } => None,
    }
}
