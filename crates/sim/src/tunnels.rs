//! Connections over which access points exchange messages about clients: TCP, up from the first message on, with
//! the length of real messages. Their contents are values.
//!
//! Two nodes have a tunnel for messages that somebody waits for, and one for data that may come later: one behind the other,
//! the first would wait for the second.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{Instant, Packet, Rng, Seq, Transport};
use lasthop_tcp::connection::Socket;
use lasthop_tcp::{Config, Connection, PacingRule};

use crate::id::{NodeId, TunnelEndId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

/// The TCP port of the first tunnel between two nodes; the second one has the next.
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
    by_nodes: BTreeMap<(NodeId, NodeId, Priority), TunnelEndId>,
    /// By node, and the address and port of the far end.
    by_address: BTreeMap<(NodeId, Socket), TunnelEndId>,
}

/// Which of two nodes' tunnels a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// Somebody waits for it.
    High,
    /// It may come later.
    Low,
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
    pub(crate) fn send(
        &mut self,
        between: [Site; 2],
        priority: Priority,
        (message, octets): (M, u64),
    ) -> TunnelEndId {
        let id = self.end(between, priority);
        let end = &mut self.ends[id.index()];
        let len = HEADER + octets;
        end.connection.write_stream(FIRST_STREAM + id.0, end.written, len);
        end.written += len;
        end.sent.push_back((end.written, message));
        id
    }

    /// Octets of messages of high priority that have come to a node from another one, complete or not.
    pub(crate) fn received(&self, at: NodeId, from: NodeId) -> u64 {
        self.by_nodes.get(&(at, from, Priority::High)).map_or(0, |id| self.ends[id.index()].read)
    }

    /// Octets of such messages of a node that another one has acknowledged.
    pub(crate) fn delivered(&self, at: NodeId, to: NodeId) -> u64 {
        self.by_nodes.get(&(at, to, Priority::High)).map_or(0, |id| {
            let end = &self.ends[id.index()];
            end.written.saturating_sub(end.connection.unacknowledged())
        })
    }

    /// The smoothed round-trip time between a node and another one, if they have exchanged messages.
    pub(crate) fn round_trip(&self, at: NodeId, to: NodeId) -> Option<Duration> {
        let end = self.by_nodes.get(&(at, to, Priority::High))?;
        self.ends[end.index()].connection.rtt().estimate().map(|(smoothed, _)| smoothed)
    }

    /// The near end of the tunnel between two nodes.
    fn end(&mut self, [near, far]: [Site; 2], priority: Priority) -> TunnelEndId {
        if let Some(id) = self.by_nodes.get(&(near.0, far.0, priority)) {
            return *id;
        }
        let port = PORT + priority as u16;
        let sockets = [near, far].map(|(_, address)| (address, port));
        let [iss, irs] = [(); 2].map(|()| Seq(self.numbers.next_u64() as u32));
        // As a daemon would have it: the window stays between hand-offs (Linux's `tcp_slow_start_after_idle = 0`), and segments
        // are spread over the round trip, because a burst would fill the queues in which messages of the other tunnel are.
        let config = Config { window_validation: false, pacing: PacingRule::Fq, ..Config::linux() };
        let connections = [
            Connection::established(config.clone(), &config, sockets[0], sockets[1], iss, irs),
            Connection::established(config.clone(), &config, sockets[1], sockets[0], irs, iss),
        ];
        let first = TunnelEndId::from_index(self.ends.len());
        for (connection, (here, there)) in connections.into_iter().zip([(near, far), (far, near)]) {
            let id = TunnelEndId::from_index(self.ends.len());
            self.by_nodes.insert((here.0, there.0, priority), id);
            self.by_address.insert((here.0, (there.1, port)), id);
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
            Transport::Tcp(tcp)
                if tcp.destination_port == tcp.source_port
                    && (PORT..=PORT + 1).contains(&tcp.source_port) =>
            {
                self.by_address.get(&(node, (packet.ip().source, tcp.source_port))).copied()
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
