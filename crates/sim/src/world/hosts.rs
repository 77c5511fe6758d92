//! TCP endpoints at work: segments in and out, deadlines.

use lasthop_packet::Transport;

use super::World;

use crate::id::{AgentId, ConnectionId, NodeId};
use crate::observe::{Interest, LossCause, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;

impl World {
    /// A packet for a host: to the endpoint that it is for.
    pub(super) fn deliver_to_host(&mut self, node: NodeId, key: PacketKey) {
        let packet = self.transit.packet(key);
        if let Transport::Udp(udp) = *packet.transport() {
            self.deliver_datagram(node, key, udp);
            return;
        }
        let is_icmp = matches!(packet.transport(), Transport::Icmp(_));
        let Some(id) = self.hosts.endpoint(node, packet) else {
            if !self.deliver_to_channel(node, key) {
                self.refuse(node, key);
            }
            return;
        };
        self.transit.accounts_mut().consumed += 1;
        let hosted = &mut self.hosts.connections[id.index()];
        let (flow, end) = (hosted.flow, hosted.end());
        let fast_retransmits = hosted.tcp.stats().fast_retransmits;
        self.transit.trace(Interest::SEGMENTS, key, |packet| {
            if is_icmp {
                TraceEvent::IcmpReceived { flow, packet }
            } else {
                TraceEvent::SegmentReceived { flow, end, packet }
            }
        });
        let packet = self.transit.packet(key);
        if is_icmp {
            hosted.tcp.on_icmp(packet, self.transit.now());
        } else {
            hosted.tcp.on_segment(packet, self.transit.now());
        }
        let retransmits = hosted.tcp.stats().fast_retransmits > fast_retransmits;
        self.transit.packets_mut().remove(key);
        if retransmits {
            self.transit.emit(&TraceEvent::Loss { flow, cause: LossCause::FastRetransmit });
        }
        self.read(id);
        self.pump(id);
    }

    /// The application takes what has arrived.
    #[inline]
    fn read(&mut self, id: ConnectionId) {
        let hosted = &mut self.hosts.connections[id.index()];
        if hosted.sends {
            return;
        }
        let flow = hosted.flow;
        let now = self.transit.now();
        let was_done = self.hosts.flows[flow.index()].is_done();
        while let Some(payload) = hosted.tcp.read() {
            self.hosts.flows[flow.index()].receive(&payload, now);
        }
        if hosted.tcp.peer_has_closed() {
            hosted.tcp.close();
        }
        if !was_done && self.hosts.flows[flow.index()].is_done() {
            self.hosts.on_flow_done(flow, &mut self.transit);
        }
    }

    /// Sends what an endpoint has to send, and follows its deadline.
    #[inline]
    pub(super) fn pump(&mut self, id: ConnectionId) {
        let (node, now) = (self.hosts.connections[id.index()].node, self.transit.now());
        loop {
            let hosted = &mut self.hosts.connections[id.index()];
            if hosted.tcp.is_idle() {
                break;
            }
            let max = hosted.tcp.flight().max;
            let Some(key) =
                self.transit.packets_mut().insert_made(|place| hosted.tcp.transmit_into(place, now))
            else {
                break;
            };
            let (flow, end, destination) = (hosted.flow, hosted.end(), hosted.destination);
            self.transit.trace(Interest::SEGMENTS, key, |packet| {
                let again = packet.segment_len() > 0 && packet.tcp().is_some_and(|tcp| tcp.seq.before(max));
                TraceEvent::SegmentSent { flow, end, packet, again }
            });
            match destination {
                Some(destination) => self.originate_to(destination, key),
                None if self.originate(node, key) => {
                    let destination = self.transit.packets().destination(key);
                    self.hosts.connections[id.index()].destination = Some(destination);
                }
                None => continue,
            }
            self.route(node, key, AgentId::NONE);
        }
        if self.transit.wants(Interest::WINDOW) {
            let hosted = &self.hosts.connections[id.index()];
            if hosted.sends {
                let event = TraceEvent::Window { flow: hosted.flow, sender: &hosted.tcp };
                self.transit.emit(&event);
            }
        }
        let hosted = &mut self.hosts.connections[id.index()];
        let deadline = hosted.tcp.deadline().map(|deadline| deadline.at.max(self.transit.now()));
        self.transit.follow(&mut hosted.timer, deadline, Event::ConnectionDeadline(id));
        if deadline.is_none() && hosted.sends && hosted.tcp.has_failed() {
            let flow = hosted.flow;
            self.hosts.on_flow_failed(flow, self.transit.now());
        }
    }

    pub(super) fn on_connection_deadline(&mut self, id: ConnectionId) {
        let hosted = &mut self.hosts.connections[id.index()];
        if !hosted.timer.fired(self.transit.now()) {
            return;
        }
        let before = hosted.tcp.stats().timeouts;
        if hosted.tcp.deadline().is_some_and(|deadline| deadline.at <= self.transit.now()) {
            hosted.tcp.on_deadline(self.transit.now());
            let flow = hosted.flow;
            if hosted.tcp.stats().timeouts > before {
                self.transit.emit(&TraceEvent::Loss { flow, cause: LossCause::Timeout });
            }
        }
        self.pump(id);
    }
}
