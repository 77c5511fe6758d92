//! Hosts: TCP endpoints.

use lasthop_packet::{Packet, Quotation, Transport};
use lasthop_tcp::Connection;

use super::{EndpointKey, Node, World};
use crate::accounts::DropCause;
use crate::id::{AgentId, ConnectionId, FlowId, NodeId};
use crate::observe::{End, Interest, LossCause, TraceEvent};
use crate::parcel::ParcelKey;
use crate::schedule::{Event, LazyTimer};

pub(super) struct HostedConnection {
    pub(super) tcp: Connection,
    pub(super) node: NodeId,
    pub(super) flow: FlowId,
    /// Whether it is the end that sends data.
    pub(super) sends: bool,
    pub(super) timer: LazyTimer,
}

impl HostedConnection {
    const fn end(&self) -> End {
        if self.sends { End::Sender } else { End::Receiver }
    }
}

impl World {
    /// A packet for a host: to the endpoint that it is for.
    pub(super) fn deliver_to_host(&mut self, node: NodeId, key: ParcelKey) {
        let packet = self.parcels[key].packet();
        if let Transport::Udp(udp) = *packet.transport() {
            self.deliver_datagram(node, key, udp);
            return;
        }
        let is_icmp = matches!(packet.transport(), Transport::Icmp(_));
        let Some(id) = endpoint_key(packet).and_then(|key| self.nodes[node.index()].endpoint(key)) else {
            self.drop_parcel(node, key, DropCause::NoListener);
            return;
        };
        self.accounts.consumed += 1;
        let hosted = &mut self.connections[id.index()];
        let (flow, end) = (hosted.flow, hosted.end());
        let fast_retransmits = hosted.tcp.stats().fast_retransmits;
        if self.interest.contains(Interest::SEGMENTS) {
            let event = if is_icmp {
                TraceEvent::IcmpReceived { flow, packet }
            } else {
                TraceEvent::SegmentReceived { flow, end, packet }
            };
            super::tell(&mut self.observers, self.now, &event);
        }
        if is_icmp {
            hosted.tcp.on_icmp(packet, self.now);
        } else {
            hosted.tcp.on_segment(packet, self.now);
        }
        let retransmits = hosted.tcp.stats().fast_retransmits > fast_retransmits;
        self.parcels.remove(key);
        if retransmits {
            self.emit(&TraceEvent::Loss { flow, cause: LossCause::FastRetransmit });
        }
        self.read(id);
        self.pump(id);
    }

    /// The application takes what has arrived.
    #[inline]
    fn read(&mut self, id: ConnectionId) {
        let hosted = &mut self.connections[id.index()];
        if hosted.sends {
            return;
        }
        let flow = hosted.flow;
        let now = self.now;
        let was_done = self.flows[flow.index()].is_done();
        while let Some(payload) = hosted.tcp.read() {
            self.flows[flow.index()].receive(&payload, now);
        }
        if hosted.tcp.peer_has_closed() {
            hosted.tcp.close();
        }
        if !was_done && self.flows[flow.index()].is_done() {
            self.on_flow_done(flow);
        }
    }

    /// Sends what an endpoint has to send, and follows its deadline.
    #[inline]
    pub(super) fn pump(&mut self, id: ConnectionId) {
        let node = self.connections[id.index()].node;
        loop {
            let hosted = &mut self.connections[id.index()];
            let max = hosted.tcp.flight().max;
            let Some(key) = self.parcels.insert(|| hosted.tcp.poll_transmit(self.now)) else { break };
            if self.interest.contains(Interest::SEGMENTS) {
                let packet = self.parcels[key].packet();
                let again = packet.segment_len() > 0 && packet.tcp().is_some_and(|tcp| tcp.seq.before(max));
                let (flow, end) = (hosted.flow, hosted.end());
                let event = TraceEvent::SegmentSent { flow, end, packet, again };
                super::tell(&mut self.observers, self.now, &event);
            }
            if self.originate(node, key) {
                self.route(node, key, AgentId::NONE);
            }
        }
        if self.wants(Interest::WINDOW) {
            let hosted = &self.connections[id.index()];
            if hosted.sends {
                let event = TraceEvent::Window { flow: hosted.flow, sender: &hosted.tcp };
                super::tell(&mut self.observers, self.now, &event);
            }
        }
        let hosted = &mut self.connections[id.index()];
        let deadline = hosted.tcp.deadline().map(|deadline| deadline.at.max(self.now));
        hosted.timer.follow(deadline, Event::ConnectionDeadline(id), &mut self.schedule);
    }

    pub(super) fn on_connection_deadline(&mut self, id: ConnectionId) {
        let hosted = &mut self.connections[id.index()];
        if !hosted.timer.fired(self.now) {
            return;
        }
        let before = hosted.tcp.stats().timeouts;
        if hosted.tcp.deadline().is_some_and(|deadline| deadline.at <= self.now) {
            hosted.tcp.on_deadline(self.now);
            let flow = hosted.flow;
            if hosted.tcp.stats().timeouts > before {
                self.emit(&TraceEvent::Loss { flow, cause: LossCause::Timeout });
            }
        }
        self.pump(id);
    }
}

impl Node {
    #[inline]
    fn endpoint(&mut self, key: EndpointKey) -> Option<ConnectionId> {
        if let Some((recent, id)) = self.recent_endpoint
            && recent == key
        {
            return Some(id);
        }
        let id = self.endpoints.get(&key).copied()?;
        self.recent_endpoint = Some((key, id));
        Some(id)
    }
}

/// Which endpoint of its destination a packet is for.
#[inline]
fn endpoint_key(packet: &Packet) -> Option<EndpointKey> {
    match packet.transport() {
        Transport::Tcp(tcp) => Some((tcp.destination_port, tcp.source_port, packet.ip().source)),
        Transport::Icmp(_) => Quotation::of(packet).map(|Quotation { flow, .. }| {
            let (local, remote) = (flow.source, flow.destination);
            (local.1, remote.1, remote.0)
        }),
        Transport::Udp(_) | Transport::Opaque { .. } => None,
    }
}
