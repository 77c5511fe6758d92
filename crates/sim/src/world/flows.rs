//! Flows at work: applications write, endpoints send and receive, datagrams go and come.

use std::time::Duration;

use lasthop_apps::datagrams::Datagrams;
use lasthop_apps::traffic::{Next, Source};
use lasthop_nat::Protocol;
use lasthop_packet::{Instant, Ip, Packet, Transport, Udp};

use super::World;
use super::reach::reach;
use crate::config::{FlowConfig, Opening, TransportConfig};
use crate::connections::Ends;
use crate::endpoint::AnyEndpoint;
use crate::flow::{Carrier, Flow, FlowOutcome, FlowSoFar, Transfer, Written};
use crate::flows::Flows;
use crate::id::{AgentId, ConnectionId, FlowId, NodeId, PipeId};
use crate::network::Interface;
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::Egress;

/// The time after which a saturating source sends the next datagram, where the last one was removed before
/// it could leave a queue.
pub(super) const RETRY: Duration = Duration::from_millis(1);

impl World {
    /// Adds a flow.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        let FlowConfig { name, from, to, start, stop, application, transport } = config;
        let (id, start) = (self.flows.next_id(), start.max(self.now()));
        let (stream, size) = (id.index() as u32 + 1, application.size());
        let nodes = [from, to];
        let sockets = Flows::sockets(id, nodes.map(|node| self.node_address(node)));
        let protocol =
            if matches!(transport, TransportConfig::Tcp(_)) { Protocol::Tcp } else { Protocol::Udp };
        let now = self.now();
        let known_as = reach(&mut self.network, &mut self.translators, nodes, (protocol, sockets[1]), now);
        let ends = Ends { flow: id, nodes, sockets, known_as };
        let numbers = self.stream(&format!("flow {} {name} numbers", id.index()));
        let carrier = match transport {
            TransportConfig::Tcp(tcp) => {
                let opening = tcp.opening;
                let sender = self.connections.connect_tcp(ends, numbers, tcp, &mut self.transit);
                Carrier::Connection(Transfer::new(sender, opening, size))
            }
            TransportConfig::Other(connect) => {
                let sender = self.connections.connect_other(ends, numbers, connect);
                Carrier::Connection(Transfer::new(sender, Opening::Handshake, size))
            }
            TransportConfig::Udp => {
                // A saturating source sends when a packet leaves a queue.
                self.links.cells_mut().report_fates();
                let [from, to] = [sockets[0], known_as];
                let udp = Udp { source_port: from.1, destination_port: to.1 };
                let datagrams = Datagrams::new(Ip::new(from.0, to.0), udp, stream, application.message());
                Carrier::Udp(Box::new(datagrams))
            }
        };
        let rng = self.stream(&format!("flow {} {name} application", id.index()));
        let source = Source::new(&application, start, rng);
        let flow = Flow::new((name, from, to), (start, size, stop.is_some()), (stream, source), carrier);
        self.flows.add(flow, start, stop, &mut self.transit);
        id
    }

    /// A flow as it stands.
    pub fn flow(&self, flow: FlowId) -> &Flow {
        self.flows.get(flow)
    }

    /// All flows in the order of addition.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.flows.all().len()).map(FlowId::from_index)
    }

    /// The outcome of a flow by now, from its start or from [`World::start_measuring`] on.
    pub fn outcome(&self, flow: FlowId) -> FlowOutcome {
        let nothing = FlowSoFar::default();
        let earlier = self.warm_up.flow(flow).unwrap_or(&nothing);
        let flow = self.flows.get(flow);
        flow.outcome(self.endpoint_of(flow), self.now(), (self.warm_up.end(), earlier))
    }

    /// The state of each flow's outcome so far.
    pub(super) fn flows_so_far(&self) -> Vec<FlowSoFar> {
        self.flows.all().iter().map(|flow| flow.so_far(self.endpoint_of(flow))).collect()
    }

    /// The endpoint that sends a flow's data; `None` if that is not TCP's.
    pub fn sender(&self, flow: FlowId) -> Option<&lasthop_tcp::Connection> {
        self.endpoint_of(self.flows.get(flow))?.tcp()
    }

    fn endpoint_of(&self, flow: &Flow) -> Option<&AnyEndpoint> {
        flow.sender().map(|sender| self.connections.endpoint(sender))
    }

    pub(super) fn on_flow_start(&mut self, id: FlowId) {
        if self.translators.are_any() && !self.finds_receiver(id) {
            return;
        }
        let written = self.flows.start(id, &mut self.transit);
        self.send_written(id, written);
    }

    pub(super) fn on_flow_write(&mut self, id: FlowId) {
        let written = self.flows.write(id);
        self.send_written(id, written);
    }

    /// Sends what the application of a flow has written, and follows when it writes next.
    fn send_written(&mut self, id: FlowId, written: Option<(Written, Next)>) {
        let Some((written, next)) = written else { return };
        match written {
            Written::Nothing => {}
            Written::Stream(write) => {
                self.connections.write(write);
                self.pump(write.sender);
            }
            Written::Datagram => self.send_datagram(id, next == Next::WhenSent),
        }
        match next {
            Next::At(at) => self.transit.schedule(at.max(self.transit.now()), Event::FlowWrite(id)),
            // A bulk transfer: over a connection it has written all; a datagram schedules the next one.
            Next::WhenSent => {}
            Next::Never => self.end_flow(id),
        }
    }

    /// The application of a flow stops before its end.
    pub(super) fn on_flow_stop(&mut self, id: FlowId) {
        let flow = self.flows.get(id);
        if !flow.is_done() && !flow.is_stopped() {
            self.end_flow(id);
        }
    }

    /// The application of a flow writes nothing more. What was sent is still to arrive; a bulk transfer
    /// discards the rest, another application's data is all sent.
    fn end_flow(&mut self, id: FlowId) {
        self.flows.stop(id, self.transit.now());
        let flow = self.flows.get(id);
        let (sender, is_bulk, has_handshake) = (flow.sender(), flow.is_bulk(), flow.has_handshake());
        if let Some(sender) = sender {
            if is_bulk {
                let sent = self.connections.discard(sender);
                self.flows.expect(id, sent);
            }
            if has_handshake {
                self.connections.close(sender);
            }
        }
        self.flows.check_if_done(id, &mut self.transit);
        if let Some(sender) = sender {
            self.pump(sender);
        }
    }

    /// A packet for a host: to the endpoint that it is for.
    pub(super) fn deliver_to_host(&mut self, node: NodeId, key: PacketKey) {
        if matches!(self.transit.packet(key).transport(), Transport::Udp(_)) {
            self.deliver_datagram(node, key);
        } else if let Some(id) = self.connections.deliver(node, key, &mut self.flows, &mut self.transit) {
            self.pump(id);
        } else if !self.deliver_to_channel(node, key) && !self.deliver_to_tunnel(node, key) {
            self.refuse(node, key);
        }
    }

    // Apart, so that it costs segments nothing.
    #[inline(never)]
    fn deliver_datagram(&mut self, node: NodeId, key: PacketKey) {
        if self.flows.receive_datagram(node, key, &mut self.transit) {
            return;
        }
        if let Some(call) = self.calls.receive(node, key, &mut self.transit) {
            self.check_call(call);
            return;
        }
        match self.connections.deliver_over_udp(node, key, &mut self.flows, &mut self.transit) {
            Some(id) => self.pump(id),
            None => self.deliver_otherwise(node, key),
        }
    }

    /// Sends what an endpoint has to send, and follows its deadline.
    #[inline]
    fn pump(&mut self, id: ConnectionId) {
        while let Some(key) = self.connections.transmit(id, &mut self.transit) {
            let (node, destination) = self.connections.way(id);
            match destination {
                Some(destination) => self.originate_to(destination, key),
                None if self.originate(node, key) => {
                    self.connections.set_destination(id, self.transit.packets().destination(key));
                }
                None => continue,
            }
            self.route(node, key, AgentId::NONE);
        }
        self.connections.follow(id, &mut self.flows, &mut self.transit);
    }

    pub(super) fn on_connection_deadline(&mut self, id: ConnectionId) {
        if self.connections.on_deadline(id, &mut self.transit) {
            self.pump(id);
        }
    }

    /// Sends a flow's next datagram; a source that saturates the first queue (`saturates`) is to
    /// send another when this one has left it.
    fn send_datagram(&mut self, id: FlowId, saturates: bool) {
        let (now, gone) = (self.transit.now(), self.flows.gone(id));
        let Some((from, packet)) = self.flows.next_datagram(id, now) else { return };
        let len = packet.len();
        let first_pipe = if saturates { self.first_pipe(id, Some(&packet)) } else { None };
        let free_at = first_pipe.map(|pipe| self.links.wired().free_at(pipe));

        let key = self.transit.packets_mut().insert(packet);
        self.transit.trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramSent { flow: id, packet });
        self.send_out(from, key);
        if !saturates {
            return;
        }
        if let (Some(pipe), Some(free_at)) = (first_pipe, free_at) {
            let at = self.links.wired_mut().next_of_saturating(pipe, (free_at, len), now);
            if at == Instant::MAX {
                // Nothing leaves a link that is stalled.
                self.flows.stall(id);
            } else {
                self.transit.schedule(at, Event::FlowWrite(id));
            }
        } else if self.flows.gone(id) != gone {
            self.flows.schedule_datagram(id, now + RETRY, &mut self.transit);
        }
    }

    /// A link has another rate: sources that saturate it continue.
    pub(super) fn resume_sources(&mut self) {
        let now = self.transit.now();
        for id in self.flows.take_stalled() {
            let moves_at = self.first_pipe(id, None).map(|pipe| self.links.wired_mut().moves_at(pipe, now));
            match moves_at {
                Some(Instant::MAX) => self.flows.stall(id),
                moves_at => {
                    self.transit.schedule(moves_at.unwrap_or_default().max(now), Event::FlowWrite(id));
                }
            }
        }
    }

    /// The first link of a flow's way, if it is a wired one with a plain
    /// queue, which tells beforehand when a packet leaves it; or the way around it, for a packet that
    /// the link does not impair.
    fn first_pipe(&mut self, id: FlowId, packet: Option<&Packet>) -> Option<PipeId> {
        let flow = self.flows.get(id);
        let (from, to) = (flow.from(), flow.to());
        let at = (from, self.network.interface_towards(from, to)?);
        let Interface { link, egress: Egress::Pipe(pipe), .. } = *self.network.interface(at) else {
            return None;
        };
        let packet = packet.filter(|_| self.selective.are_any());
        let around = packet.and_then(|packet| self.selective.way_around(at, link, packet));
        Some(around.unwrap_or(pipe))
    }

    /// A packet has left the network before its destination.
    pub(super) fn packet_gone(&mut self, packet: &Packet) {
        self.flows.packet_gone(packet, &mut self.transit);
        if let Some(call) = self.calls.packet_gone(packet) {
            self.check_call(call);
        }
    }

    /// An agent or a link adds a packet.
    pub(super) fn packet_added(&mut self, key: PacketKey) {
        self.flows.packet_added(self.transit.packet(key));
        self.calls.packet_added(self.transit.packet(key));
    }
}
