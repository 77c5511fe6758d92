//! What is in hosts: endpoints, and the flows between them with their applications.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lasthop_apps::datagrams::Datagrams;
use lasthop_apps::traffic::{Next, Source};
use lasthop_packet::{Instant, Ip, Packet, Rng, Seq, Transport, Udp};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::Socket;

use crate::config::{FlowConfig, Opening, TcpConfig, TransportConfig};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::endpoints::Endpoints;
use crate::flow::{Carrier, Flow, FlowOutcome, FlowSoFar, Transfer, Written};
use crate::id::{ConnectionId, FlowId, NodeId};
use crate::observe::{End, Interest, LossCause, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

/// Ports tell the flows of a pair of hosts apart: the sender's counts them from here, and wraps
/// after so many.
const FIRST_PORT: u16 = 10_000;
const PORTS: usize = 50_000;
/// The receiver's counts the times that the sender's wrapped.
const FIRST_RECEIVER_PORT: u16 = 5_001;

pub(crate) struct Hosts {
    connections: Vec<HostedConnection>,
    flows: Vec<Flow>,
    endpoints: Endpoints<ConnectionId>,
    /// Those over UDP.
    over_udp: Endpoints<ConnectionId>,
    /// Flows with an end that are not done yet.
    unfinished: usize,
    /// Whether no flow has an end: then a run lasts until its own.
    is_endless: bool,
    /// Flows that send the next datagram once a link is no longer stalled.
    stalled: Vec<FlowId>,
}

struct HostedConnection {
    endpoint: AnyEndpoint,
    node: NodeId,
    /// Where its packets go, once the first one has found that.
    destination: Option<NodeId>,
    flow: FlowId,
    /// Whether it is the end that sends data.
    sends: bool,
    timer: LazyTimer,
}

/// How a flow starts.
#[derive(Clone, Copy)]
pub(crate) enum Begun {
    /// Not at all: it was stopped before.
    Stopped,
    /// A bulk transfer has written all that it has.
    All(ConnectionId),
    /// It is its application's turn.
    InTurns,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            connections: Vec::new(),
            flows: Vec::new(),
            endpoints: Endpoints::default(),
            over_udp: Endpoints::default(),
            unfinished: 0,
            is_endless: true,
            stalled: Vec::new(),
        }
    }
}

/// Flows: their applications' starts, writes and stops.
impl Hosts {
    /// Adds a flow between hosts with these addresses.
    pub(crate) fn add_flow(
        &mut self,
        config: FlowConfig,
        addresses: [IpAddr; 2],
        seed: u64,
        transit: &mut Transit,
    ) -> FlowId {
        let id = FlowId::of(self.flows.len());
        let FlowConfig { name, from, to, start, stop, application, transport } = config;
        let start = start.max(transit.now());
        let stream = id.index() as u32 + 1;
        let size = application.size();
        let ports = ports(id);
        let ends = ((addresses[0], ports.0), (addresses[1], ports.1));
        let mut numbers = Rng::named(seed, &format!("flow {} {name} numbers", id.index()));
        let carrier = match transport {
            TransportConfig::Tcp(tcp) => {
                // Initial sequence numbers anywhere: wrapping is the rule, not the exception.
                let numbers = [(); 2].map(|()| Seq(numbers.next_u64() as u32));
                let opening = tcp.opening;
                let sender = self.connect(id, (from, to), ends, numbers, tcp, transit);
                Carrier::Connection(Transfer::new(sender, opening, size))
            }
            TransportConfig::Other(connect) => {
                let [sender, receiver] = connect([ends.0, ends.1].map(SocketAddr::from), numbers);
                let sender = self.add_connection(from, id, AnyEndpoint::Other(sender), true, ends);
                let ends = (ends.1, ends.0);
                self.add_connection(to, id, AnyEndpoint::Other(receiver), false, ends);
                Carrier::Connection(Transfer::new(sender, Opening::Handshake, size))
            }
            TransportConfig::Udp => {
                let ip = Ip::new(addresses[0], addresses[1]);
                let udp = Udp { source_port: ports.0, destination_port: ports.1 };
                Carrier::Udp(Box::new(Datagrams::new(ip, udp, stream, application.message())))
            }
        };
        let rng = Rng::named(seed, &format!("flow {} {name} application", id.index()));
        let source = Source::new(&application, start, rng);
        let flow = Flow::new((name, from, to), (start, size, stop.is_some()), (stream, source), carrier);
        self.unfinished += usize::from(flow.has_end());
        self.is_endless &= !flow.has_end();
        self.flows.push(flow);
        transit.schedule(start, Event::FlowStart(id));
        if let Some(stop) = stop {
            transit.schedule(stop.max(transit.now()), Event::FlowStop(id));
        }
        id
    }

    /// The two endpoints of a flow over TCP. Returns the one that sends its data.
    fn connect(
        &mut self,
        id: FlowId,
        (from, to): (NodeId, NodeId),
        (local, remote): (Socket, Socket),
        [iss, irs]: [Seq; 2],
        config: TcpConfig,
        transit: &mut Transit,
    ) -> ConnectionId {
        let TcpConfig { opening, sender, receiver, sender_extension, receiver_extension } = config;
        let (sender, receiver) = match opening {
            Opening::Handshake => {
                (Connection::connect(sender, local, remote, iss), Connection::listen(receiver, remote, irs))
            }
            Opening::Established => (
                Connection::established(sender.clone(), &receiver, local, remote, iss, irs),
                Connection::established(receiver, &sender, remote, local, irs, iss),
            ),
        };
        let sender = sender.with_sender_extension(sender_extension);
        let receiver = receiver.with_receiver_extension(receiver_extension);
        transit.add_stream(local, remote, iss + 1);
        let [sender, receiver] = [sender, receiver].map(AnyEndpoint::Tcp);
        let sender = self.add_connection(from, id, sender, true, (local, remote));
        self.add_connection(to, id, receiver, false, (remote, local));
        sender
    }

    fn add_connection(
        &mut self,
        node: NodeId,
        flow: FlowId,
        endpoint: AnyEndpoint,
        sends: bool,
        ends: (Socket, Socket),
    ) -> ConnectionId {
        let id = ConnectionId::of(self.connections.len());
        match endpoint {
            AnyEndpoint::Tcp(_) => self.endpoints.add(node, ends, id),
            AnyEndpoint::Other(_) => self.over_udp.add(node, ends, id),
        }
        let timer = LazyTimer::default();
        self.connections.push(HostedConnection { endpoint, node, destination: None, flow, sends, timer });
        id
    }

    /// A flow starts.
    pub(crate) fn start(&mut self, id: FlowId, transit: &mut Transit) -> Begun {
        let flow = &mut self.flows[id.index()];
        if flow.is_stopped() {
            return Begun::Stopped;
        }
        let all = flow.sender().zip(flow.write_all());
        if let Some((sender, octets)) = all {
            let endpoint = &mut self.connections[sender.index()].endpoint;
            endpoint.write_stream(flow.stream(), 0, octets);
            if flow.has_handshake() && flow.size().is_some() {
                endpoint.close();
            }
        }
        transit.emit(&TraceEvent::FlowStarted { flow: id });
        let Some((sender, _)) = all else { return Begun::InTurns };
        // There is no last octet of nothing whose arrival would complete it.
        self.check_if_done(id, transit);
        Begun::All(sender)
    }

    /// It is an application's turn to write. Returns what it wrote, with the endpoint that sends that if there is
    /// one, and when its next turn is; `None` if it was stopped.
    pub(crate) fn write(&mut self, id: FlowId) -> Option<(Written, Option<ConnectionId>, Next)> {
        let flow = &mut self.flows[id.index()];
        if flow.is_stopped() {
            return None;
        }
        let ((written, next), sender) = (flow.write(), flow.sender());
        if let (Written::Stream { offset, octets }, Some(sender)) = (written, sender) {
            self.connections[sender.index()].endpoint.write_stream(flow.stream(), offset, octets);
        }
        Some((written, sender, next))
    }

    /// An application stops before its end. Returns the endpoint that may have something to send then.
    pub(crate) fn stop(&mut self, id: FlowId, transit: &mut Transit) -> Option<ConnectionId> {
        let flow = &self.flows[id.index()];
        if flow.is_done() || flow.is_stopped() { None } else { self.end_writing(id, transit) }
    }

    /// An application writes nothing more: what was sent is still to arrive. Of a bulk transfer
    /// what was not sent is left undone; what an application wrote in its time is not. Returns the endpoint
    /// that may have something to send then.
    pub(crate) fn end_writing(&mut self, id: FlowId, transit: &mut Transit) -> Option<ConnectionId> {
        let flow = &mut self.flows[id.index()];
        flow.stop(transit.now());
        let sender = flow.sender();
        if let Some(sender) = sender {
            let endpoint = &mut self.connections[sender.index()].endpoint;
            let sent = if flow.is_bulk() { endpoint.discard() } else { 0 };
            if flow.has_handshake() {
                endpoint.close();
            }
            flow.expect(sent);
        }
        self.check_if_done(id, transit);
        sender
    }

    /// Nothing more may be to be expected of a flow.
    fn check_if_done(&mut self, id: FlowId, transit: &mut Transit) {
        let flow = &mut self.flows[id.index()];
        if !flow.is_done() {
            flow.note_if_done(transit.now());
            if flow.is_done() {
                self.on_flow_done(id, transit);
            }
        }
    }

    fn on_flow_done(&mut self, id: FlowId, transit: &mut Transit) {
        self.unfinished -= usize::from(self.flows[id.index()].has_end());
        transit.emit(&TraceEvent::FlowCompleted { flow: id });
    }

    /// The connection that a flow sends over has failed.
    #[cold]
    fn on_flow_failed(&mut self, id: FlowId, now: Instant) {
        let flow = &mut self.flows[id.index()];
        if !flow.is_done() {
            flow.give_up(now);
            self.unfinished -= usize::from(flow.has_end());
        }
    }
}

/// Endpoints: packets in and out, deadlines.
impl Hosts {
    /// A segment or an ICMP message has reached a host. If it is for an endpoint there, that and its
    /// application take it; then that endpoint may have something to send.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        node: NodeId,
        key: PacketKey,
        transit: &mut Transit,
    ) -> Option<ConnectionId> {
        let Some(id) = self.endpoints.of(node, transit.packet(key)) else {
            return self.deliver_over_udp(node, key, transit);
        };
        let HostedConnection { endpoint, flow, sends, .. } = &mut self.connections[id.index()];
        if let AnyEndpoint::Tcp(tcp) = endpoint {
            take(tcp, (flow, sends), key, transit);
            if !*sends && read(tcp, &mut self.flows[flow.index()], transit.now()) {
                let flow = *flow;
                self.on_flow_done(flow, transit);
            }
        }
        Some(id)
    }

    /// As [`Self::deliver`], for a datagram, or an ICMP message about one.
    #[cold]
    pub(crate) fn deliver_over_udp(
        &mut self,
        node: NodeId,
        key: PacketKey,
        transit: &mut Transit,
    ) -> Option<ConnectionId> {
        let id = self.over_udp.of_datagram(node, transit.packet(key))?;
        let HostedConnection { endpoint, flow, sends, .. } = &mut self.connections[id.index()];
        if let AnyEndpoint::Other(other) = endpoint {
            take(other.as_mut(), (flow, sends), key, transit);
            if !*sends && read(other.as_mut(), &mut self.flows[flow.index()], transit.now()) {
                let flow = *flow;
                self.on_flow_done(flow, transit);
            }
        }
        Some(id)
    }

    /// The next packet that an endpoint sends.
    #[inline]
    pub(crate) fn transmit(&mut self, id: ConnectionId, transit: &mut Transit) -> Option<PacketKey> {
        let HostedConnection { endpoint, flow, sends, .. } = &mut self.connections[id.index()];
        match endpoint {
            AnyEndpoint::Tcp(tcp) => transmit(tcp, (flow, sends), transit),
            AnyEndpoint::Other(other) => transmit_other(other.as_mut(), (flow, sends), transit),
        }
    }

    /// The node that an endpoint is at, and where its packets go, if that is known.
    #[inline]
    pub(crate) fn way(&self, id: ConnectionId) -> (NodeId, Option<NodeId>) {
        let HostedConnection { node, destination, .. } = &self.connections[id.index()];
        (*node, *destination)
    }

    /// The packets of an endpoint go to this node.
    pub(crate) fn set_destination(&mut self, id: ConnectionId, destination: NodeId) {
        self.connections[id.index()].destination = Some(destination);
    }

    /// An endpoint has nothing more to send: follows its deadline.
    #[inline]
    pub(crate) fn follow(&mut self, id: ConnectionId, transit: &mut Transit) {
        let hosted = &mut self.connections[id.index()];
        if transit.wants(Interest::WINDOW)
            && hosted.sends
            && let Some(sender) = hosted.endpoint.tcp()
        {
            transit.emit(&TraceEvent::Window { flow: hosted.flow, sender });
        }
        let deadline = hosted.endpoint.due().map(|due| due.max(transit.now()));
        transit.follow(&mut hosted.timer, deadline, Event::ConnectionDeadline(id));
        if deadline.is_none() && hosted.sends && hosted.endpoint.has_failed() {
            let flow = hosted.flow;
            self.on_flow_failed(flow, transit.now());
        }
    }

    /// An endpoint's timer has fired. `false` if its deadline has moved or is gone.
    pub(crate) fn on_deadline(&mut self, id: ConnectionId, transit: &mut Transit) -> bool {
        let hosted = &mut self.connections[id.index()];
        if !hosted.timer.fired(transit.now()) {
            return false;
        }
        let before = hosted.endpoint.timeouts();
        if hosted.endpoint.due().is_some_and(|due| due <= transit.now()) {
            hosted.endpoint.on_deadline(transit.now());
            if hosted.endpoint.timeouts() > before {
                transit.emit(&TraceEvent::Loss { flow: hosted.flow, cause: LossCause::Timeout });
            }
        }
        true
    }
}

/// Datagrams of flows: sent, received, and gone.
impl Hosts {
    /// A flow's next datagram, with the node that sends it.
    pub(crate) fn next_datagram(&mut self, id: FlowId, now: Instant) -> Option<(NodeId, Packet)> {
        let flow = &mut self.flows[id.index()];
        let from = flow.from();
        let datagrams = flow.datagrams_mut()?;
        datagrams.is_due = false;
        Some((from, datagrams.send(now)))
    }

    /// Datagrams of a flow that left the network before their destination.
    pub(crate) fn gone(&self, id: FlowId) -> u64 {
        self.flows[id.index()].datagrams().map_or(0, Datagrams::gone)
    }

    /// A flow's next datagram is due at a later time, unless it is due already.
    pub(crate) fn schedule_datagram(&mut self, id: FlowId, at: Instant, transit: &mut Transit) {
        if let Some(datagrams) = self.flows[id.index()].datagrams_mut()
            && !std::mem::replace(&mut datagrams.is_due, true)
        {
            transit.schedule(at, Event::FlowWrite(id));
        }
    }

    /// A flow goes on when a link is no longer stalled.
    pub(crate) fn stall(&mut self, id: FlowId) {
        self.stalled.push(id);
    }

    /// Flows that are to go on when a link is no longer stalled.
    pub(crate) fn take_stalled(&mut self) -> Vec<FlowId> {
        std::mem::take(&mut self.stalled)
    }

    /// A datagram has reached a host. Whether it is a flow's, and was taken.
    pub(crate) fn receive_datagram(&mut self, node: NodeId, key: PacketKey, transit: &mut Transit) -> bool {
        let packet = transit.packet(key);
        let Transport::Udp(udp) = *packet.transport() else { return false };
        let Some(id) = self.flow_of_datagram(packet, udp).filter(|id| self.flows[id.index()].to() == node)
        else {
            return false;
        };
        transit.accounts_mut().consumed += 1;
        transit.trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramReceived { flow: id, packet });
        self.flows[id.index()].receive_datagram(transit.packet(key), transit.now());
        transit.packets_mut().remove(key);
        self.check_if_done(id, transit);
        true
    }

    /// A packet has left the queue of a wireless interface of a node, for a transmission that takes
    /// `time`. A source that saturates the queue puts in the next one.
    #[inline]
    pub(crate) fn left_queue(&mut self, node: NodeId, key: PacketKey, time: Duration, transit: &mut Transit) {
        if let Transport::Udp(udp) = *transit.packet(key).transport() {
            self.datagram_left_queue(node, key, udp, time, transit);
        }
    }

    // Apart, so that it costs segments nothing.
    #[inline(never)]
    fn datagram_left_queue(
        &mut self,
        node: NodeId,
        key: PacketKey,
        udp: Udp,
        time: Duration,
        transit: &mut Transit,
    ) {
        let packet = transit.packet(key);
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        let flow = &mut self.flows[id.index()];
        if flow.from() != node || !flow.is_bulk() {
            return;
        }
        let Some(datagrams) = flow.datagrams() else { return };
        if datagrams.is_latest(packet) {
            // A coarse clock may make nothing of the time that datagrams take: sending again at
            // once would never end.
            let at = transit.now().max(datagrams.last_sent + time);
            self.schedule_datagram(id, at, transit);
        }
    }

    /// A packet has left the network before its destination.
    pub(crate) fn datagram_gone(&mut self, packet: &Packet, transit: &mut Transit) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams_mut() {
            datagrams.note_gone();
        }
        self.check_if_done(id, transit);
    }

    /// An agent sends a packet.
    pub(crate) fn datagram_added(&mut self, packet: &Packet) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams_mut() {
            datagrams.note_added();
        }
    }

    /// Whose datagram this is.
    fn flow_of_datagram(&self, packet: &Packet, udp: Udp) -> Option<FlowId> {
        let id = flow_of_ports(udp)?;
        let datagrams = self.flows.get(id.index())?.datagrams()?;
        datagrams.is_of(packet.ip(), udp).then_some(id)
    }
}

/// What became of flows.
impl Hosts {
    pub(crate) fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.index()]
    }

    /// How many flows there are.
    pub(crate) const fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The endpoint that sends a flow's data, if a connection carries it.
    pub(crate) fn sender(&self, id: FlowId) -> Option<&AnyEndpoint> {
        self.sender_of(self.flow(id))
    }

    fn sender_of(&self, flow: &Flow) -> Option<&AnyEndpoint> {
        flow.sender().map(|sender| &self.connections[sender.index()].endpoint)
    }

    /// Whether a flow that ends is not done; `None` if none ends.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (!self.is_endless).then_some(self.unfinished > 0)
    }

    /// What became of a flow from `since` to `now`, where at `since` it was as `earlier`.
    pub(crate) fn outcome(&self, id: FlowId, now: Instant, before: (Instant, &FlowSoFar)) -> FlowOutcome {
        self.flow(id).outcome(self.sender(id), now, before)
    }

    /// What became of each flow so far.
    pub(crate) fn so_far(&self) -> Vec<FlowSoFar> {
        self.flows.iter().map(|flow| flow.so_far(self.sender_of(flow))).collect()
    }
}

/// An endpoint, which is this end of a flow, takes a packet that is for it.
#[inline]
fn take<E: Endpoint + ?Sized>(
    endpoint: &mut E,
    (flow, sends): (&FlowId, &bool),
    key: PacketKey,
    transit: &mut Transit,
) {
    transit.accounts_mut().consumed += 1;
    transit.trace(Interest::SEGMENTS, key, |packet| match packet.transport() {
        Transport::Icmp(_) => TraceEvent::IcmpReceived { flow: *flow, packet },
        _ => TraceEvent::SegmentReceived { flow: *flow, end: end(*sends), packet },
    });
    let fast_retransmits = endpoint.fast_retransmits();
    endpoint.on_packet(transit.packet(key), transit.now());
    transit.packets_mut().remove(key);
    if endpoint.fast_retransmits() > fast_retransmits {
        transit.emit(&TraceEvent::Loss { flow: *flow, cause: LossCause::FastRetransmit });
    }
}

/// The application takes what has arrived. Whether the flow is done with that.
#[inline]
fn read<E: Endpoint + ?Sized>(endpoint: &mut E, flow: &mut Flow, now: Instant) -> bool {
    let was_done = flow.is_done();
    while let Some(payload) = endpoint.read() {
        flow.receive(&payload, now);
    }
    if endpoint.peer_has_closed() {
        endpoint.close();
    }
    !was_done && flow.is_done()
}

/// As [`transmit`], apart from what TCP does.
#[cold]
fn transmit_other(
    endpoint: &mut dyn Endpoint,
    end: (&FlowId, &bool),
    transit: &mut Transit,
) -> Option<PacketKey> {
    transmit(endpoint, end, transit)
}

/// The next packet that an endpoint sends, which is this end of a flow.
#[inline]
fn transmit<E: Endpoint + ?Sized>(
    endpoint: &mut E,
    (flow, sends): (&FlowId, &bool),
    transit: &mut Transit,
) -> Option<PacketKey> {
    if endpoint.is_idle() {
        return None;
    }
    let (sent, now) = (endpoint.sent(), transit.now());
    let key = transit.packets_mut().insert_made(|place| endpoint.transmit(place, now))?;
    transit.trace(Interest::SEGMENTS, key, |packet| TraceEvent::SegmentSent {
        flow: *flow,
        end: end(*sends),
        packet,
        again: endpoint.repeats(packet, sent),
    });
    Some(key)
}

const fn end(sends: bool) -> End {
    if sends { End::Sender } else { End::Receiver }
}

/// The sender's and the receiver's port.
fn ports(id: FlowId) -> (u16, u16) {
    (FIRST_PORT + (id.index() % PORTS) as u16, FIRST_RECEIVER_PORT + (id.index() / PORTS) as u16)
}

/// The flow that has these ports, if there is one.
fn flow_of_ports(udp: Udp) -> Option<FlowId> {
    let number = usize::from(udp.source_port.checked_sub(FIRST_PORT)?);
    let wraps = usize::from(udp.destination_port.checked_sub(FIRST_RECEIVER_PORT)?);
    (number < PORTS).then(|| FlowId::of(wraps * PORTS + number))
}
