//! Connections over which access points exchange messages about clients: TCP, up from the first message on, with
//! the length of real messages. Their contents are values.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use lasthop_packet::{Instant, Packet, Rng, Seq, Transport};
use lasthop_tcp::{Config, Connection};

use crate::id::{NodeId, TunnelEndId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

/// The TCP port of tunnels.
const PORT: u16 = 7655;
/// Octets that each message has beside its content: the header and the authentication tag of a TLS 1.3 record (RFC 8446,
/// 5.2), and 24 octets for kind, client, attempt and epoch.
const HEADER: u64 = 5 + 16 + 24;
/// The streams of tunnels are counted from here on.
const FIRST_STREAM: u32 = 1 << 30;

/// All tunnels, whose messages are of type `M`.
pub(crate) struct Tunnels<M> {
    ends: Vec<End<M>>,
    /// The generator of initial sequence numbers.
    numbers: Rng,
    /// By the nodes of the near and the far end.
    by_nodes: BTreeMap<(NodeId, NodeId), TunnelEndId>,
    /// By node, and the address of the far end.
    by_address: BTreeMap<(NodeId, IpAddr), TunnelEndId>,
}

/// One end of a tunnel. The other one has the number beside it.
struct End<M> {
    node: NodeId,
    connection: Connection,
    timer: LazyTimer,
    /// Octets written.
    written: u64,
    /// Octets read.
    read: u64,
    /// Messages that the other end has not read completely, each with the end of its octets.
    sent: VecDeque<(u64, M)>,
}

/// A node and its address.
pub(crate) type Site = (NodeId, IpAddr);

impl<M> Tunnels<M> {
    pub(crate) const fn new(numbers: Rng) -> Self {
        Self { ends: Vec::new(), numbers, by_nodes: BTreeMap::new(), by_address: BTreeMap::new() }
    }

    /// A node sends a message of so many octets to another one. Returns the end that has something to send.
    pub(crate) fn send(&mut self, between: [Site; 2], message: M, octets: u64) -> TunnelEndId {
        let id = self.end(between);
        let end = &mut self.ends[id.index()];
        let len = HEADER + octets;
        end.connection.write_stream(FIRST_STREAM + id.0, end.written, len);
        end.written += len;
        end.sent.push_back((end.written, message));
        id
    }

    /// The near end of the tunnel between two nodes.
    fn end(&mut self, [near, far]: [Site; 2]) -> TunnelEndId {
        if let Some(id) = self.by_nodes.get(&(near.0, far.0)) {
            return *id;
        }
        let sockets = [near, far].map(|(_, address)| (address, PORT));
        let [iss, irs] = [(); 2].map(|()| Seq(self.numbers.next_u64() as u32));
        let config = Config::default();
        let connections = [
            Connection::established(config.clone(), &config, sockets[0], sockets[1], iss, irs),
            Connection::established(config.clone(), &config, sockets[1], sockets[0], irs, iss),
        ];
        let first = TunnelEndId::from_index(self.ends.len());
        for (connection, (here, there)) in connections.into_iter().zip([(near, far), (far, near)]) {
            let id = TunnelEndId::from_index(self.ends.len());
            self.by_nodes.insert((here.0, there.0), id);
            self.by_address.insert((here.0, there.1), id);
            let timer = LazyTimer::default();
            self.ends.push(End {
                node: here.0,
                connection,
                timer,
                written: 0,
                read: 0,
                sent: VecDeque::new(),
            });
        }
        first
    }

    /// The end at a node that a packet is for.
    pub(crate) fn of_packet(&self, node: NodeId, packet: &Packet) -> Option<TunnelEndId> {
        match packet.transport() {
            Transport::Tcp(tcp) if tcp.destination_port == PORT && tcp.source_port == PORT => {
                self.by_address.get(&(node, packet.ip().source)).copied()
            }
            _ => None,
        }
    }

    /// A packet has arrived for an end. Returns the messages that have come completely.
    pub(crate) fn receive(&mut self, id: TunnelEndId, packet: &Packet, now: Instant) -> Vec<M> {
        let End { connection, read, .. } = &mut self.ends[id.index()];
        connection.on_segment(packet, now);
        while let Some(payload) = connection.read() {
            *read += payload.len() as u64;
        }
        let read = *read;
        let sent = &mut self.ends[id.index() ^ 1].sent;
        let complete = sent.iter().take_while(|(end, _)| *end <= read).count();
        sent.drain(..complete).map(|(_, message)| message).collect()
    }

    pub(crate) fn on_deadline(&mut self, id: TunnelEndId, now: Instant) {
        let End { connection, timer, .. } = &mut self.ends[id.index()];
        if timer.fired(now) && connection.deadline().is_some_and(|deadline| deadline.at <= now) {
            connection.on_deadline(now);
        }
    }

    /// The next packet that an end sends, and its node.
    pub(crate) fn transmit(&mut self, id: TunnelEndId, transit: &mut Transit) -> Option<(NodeId, PacketKey)> {
        let now = transit.now();
        let End { connection, node, .. } = &mut self.ends[id.index()];
        let key = transit.packets_mut().insert_made(|place| connection.transmit_into(place, now))?;
        Some((*node, key))
    }

    /// An end has sent all that it can for now.
    pub(crate) fn follow(&mut self, id: TunnelEndId, transit: &mut Transit) {
        let End { connection, timer, .. } = &mut self.ends[id.index()];
        let deadline = connection.deadline().map(|deadline| deadline.at);
        transit.follow(timer, deadline, Event::TunnelDeadline(id));
    }
}
