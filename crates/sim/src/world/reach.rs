//! By which addresses the ends of connections know each other across translation.

use std::net::{IpAddr, SocketAddrV4};
use std::time::Duration;

use lasthop_nat::{Endpoint, Protocol};
use lasthop_packet::{Instant, TcpFlags};
use lasthop_tcp::connection::Socket;

use super::World;
use crate::flows::Flows;
use crate::id::{FlowId, NodeId, PartyId};
use crate::network::Network;
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::sessions::Hosts;
use crate::sessions::calls::Reached;
use crate::translation::Translators;

/// Who wants to reach a client that has no access point asks again after this time.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl World {
    /// Whether a flow that starts has a receiver that can be reached. A client behind translators that roams is where its
    /// access point is: the sender asks for it now, and if it has none, asks again later.
    #[cold]
    pub(super) fn finds_receiver(&mut self, id: FlowId) -> bool {
        let flow = self.flows.get(id);
        let (nodes, over_connection) = ([flow.from(), flow.to()], flow.sender());
        if !self.network.is_roaming_client(nodes[1]) {
            return true;
        }
        let now = self.transit.now();
        if self.network.interface_towards(nodes[1], nodes[0]).is_none() {
            self.transit.schedule(now + ASK_AGAIN, Event::FlowStart(id));
            return false;
        }
        let own = Flows::sockets(id, nodes.map(|node| self.node_address(node)))[1];
        let protocol = if over_connection.is_some() { Protocol::Tcp } else { Protocol::Udp };
        let known_as = reach(&mut self.network, &mut self.translators, nodes, (protocol, own), now);
        match over_connection {
            Some(sender) => self.connections.call_at(sender, known_as, &mut self.transit),
            None => self.flows.send_to(id, known_as),
        }
        true
    }

    /// The addresses and ports by which the parties of a call reach each other; both have this RTP port.
    pub(super) fn reach_parties(&mut self, Hosts { nodes, addresses }: Hosts, port: u16) -> [Reached; 2] {
        let now = self.now();
        let Self { network, translators, .. } = self;
        [0, 1].map(|party| {
            let between = [nodes[1 - party], nodes[party]];
            let own = [port, port + 1].map(|port| (addresses[party], port));
            own.map(|socket| reach(network, translators, between, (Protocol::Udp, socket), now))
        })
    }

    /// The parties of a call that begins learn where to reach each other, if one of them roams.
    #[cold]
    pub(super) fn signal(&mut self, party: PartyId) {
        let Some((hosts, port)) = self.calls.to_be_signaled(party) else { return };
        let [one, other] = hosts.nodes;
        let is_there = |network: &mut Network, from, to| {
            !network.is_roaming_client(from) || network.interface_towards(from, to).is_some()
        };
        if is_there(&mut self.network, one, other) && is_there(&mut self.network, other, one) {
            let reached = self.reach_parties(hosts, port);
            self.calls.on_signaled(party, reached);
        }
    }

    /// A packet is for no endpoint of a host by its addresses. If it is the SYN of a connection whose
    /// caller is behind translators, the endpoint that waits for it takes it, and knows the caller by its
    /// outside end from now on. Whether there is one.
    #[cold]
    pub(super) fn accept_translated(&mut self, node: NodeId, key: PacketKey) -> bool {
        let packet = self.transit.packet(key);
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::SYN)) else { return false };
        let local = (packet.ip().destination, tcp.destination_port);
        let known_as = (packet.ip().source, tcp.source_port);
        let Some(caller) = self.caller(known_as) else { return false };
        let is_expected = self.connections.expect_as(node, local, caller, known_as)
            || self.dialogues.expect_as(node, local, caller, known_as);
        if is_expected {
            self.deliver(node, key);
        }
        is_expected
    }

    /// The host's own end of a TCP connection whose outside end this is; `None` if no node translates it.
    fn caller(&self, known_as: Socket) -> Option<Socket> {
        let mut endpoint = tcp_endpoint(known_as)?;
        let mut levels = 0;
        while let Some(node) = self.network.resolve(&endpoint.address.into())
            && let Some(inside) = self.translators.inside_of(node, endpoint)
        {
            endpoint = inside;
            levels += 1;
        }
        (levels > 0).then(|| (endpoint.address.into(), endpoint.port))
    }
}

fn tcp_endpoint((address, port): Socket) -> Option<Endpoint> {
    let IpAddr::V4(address) = address else { return None };
    Some(Endpoint::new(Protocol::Tcp, SocketAddrV4::new(address, port)))
}

/// The address and port by which a client reaches this address and port of a server: where the server is
/// behind translators, those of a static forwarding, which is made on each level from the inside out. Where
/// one has no room for it, that level's inside address is returned, which the translator does not let
/// through.
pub(super) fn reach(
    network: &mut Network,
    translators: &mut Translators,
    [client, server]: [NodeId; 2],
    (protocol, socket): (Protocol, Socket),
    now: Instant,
) -> Socket {
    let IpAddr::V4(address) = socket.0 else { return socket };
    if !translators.are_any() {
        return socket;
    }
    let mut endpoint = Endpoint::new(protocol, SocketAddrV4::new(address, socket.1));
    let (mut node, mut came_by) = (server, None);
    // Ways to a client that roams may lead in circles until all nodes have learned where it is.
    for _ in 0..network.len() {
        let Some(leaves_by) = network.interface_towards(node, client) else { break };
        let is_from_inside = came_by.is_some_and(|came_by| translators.is_inside(node, came_by));
        if is_from_inside
            && !translators.is_inside(node, leaves_by)
            && let Some(nat) = translators.nat_mut(node)
        {
            // Where there is no room, the packets find no mapping.
            endpoint = nat.forward(endpoint, None, now).unwrap_or(endpoint);
        }
        let link = network.interface((node, leaves_by)).link;
        let (first, second) = network.link_ends(link);
        node = if first == node { second } else { first };
        came_by = network.interface_to(node, link);
    }
    (endpoint.address.into(), endpoint.port)
}
