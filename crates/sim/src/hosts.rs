//! What is in hosts: TCP endpoints, and the flows between them with their applications.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Transport, Udp};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::Endpoint;

use crate::endpoints::Endpoints;
use crate::flow::{Carrier, Flow, FlowOutcome, FlowSoFar, TcpOutcome, TransportOutcome};
use crate::id::{ConnectionId, FlowId, NodeId};
use crate::observe::{End, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;
use lasthop_apps::datagrams::Received;
use lasthop_apps::measured::Measured;
use lasthop_apps::traffic::Source;

/// Ports tell the flows of a pair of hosts apart: the sender's counts them from here, and wraps
/// after so many.
const FIRST_PORT: u16 = 10_000;
const PORTS: usize = 50_000;
/// The receiver's counts the times that the sender's wrapped.
const FIRST_RECEIVER_PORT: u16 = 5_001;

pub(crate) struct Hosts {
    pub(crate) connections: Vec<HostedConnection>,
    pub(crate) flows: Vec<Flow>,
    endpoints: Endpoints<ConnectionId>,
    /// Flows with an end that are not done yet.
    unfinished: usize,
    /// Whether no flow has an end: then a run lasts until its own.
    is_endless: bool,
}

pub(crate) struct HostedConnection {
    pub(crate) tcp: Connection,
    pub(crate) node: NodeId,
    /// Where its packets go, once the first one has found that.
    pub(crate) destination: Option<NodeId>,
    pub(crate) flow: FlowId,
    /// Whether it is the end that sends data.
    pub(crate) sends: bool,
    pub(crate) timer: LazyTimer,
}

impl HostedConnection {
    pub(crate) const fn end(&self) -> End {
        if self.sends { End::Sender } else { End::Receiver }
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            connections: Vec::new(),
            flows: Vec::new(),
            endpoints: Endpoints::default(),
            unfinished: 0,
            is_endless: true,
        }
    }
}

impl Hosts {
    pub(crate) fn add_flow(&mut self, flow: Flow) {
        self.unfinished += usize::from(flow.has_end);
        self.is_endless &= !flow.has_end;
        self.flows.push(flow);
    }

    pub(crate) fn add_connection(
        &mut self,
        node: NodeId,
        flow: FlowId,
        tcp: Connection,
        sends: bool,
        (local, remote): (Endpoint, Endpoint),
    ) -> ConnectionId {
        let id = ConnectionId::of(self.connections.len());
        self.endpoints.add(node, (local, remote), id);
        self.connections.push(HostedConnection {
            tcp,
            node,
            destination: None,
            flow,
            sends,
            timer: LazyTimer::default(),
        });
        id
    }

    /// The endpoint at a node that a packet is for.
    #[inline]
    pub(crate) fn endpoint(&mut self, node: NodeId, packet: &Packet) -> Option<ConnectionId> {
        self.endpoints.of(node, packet)
    }

    /// Whether a flow that ends is not done; `None` if none ends.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (!self.is_endless).then_some(self.unfinished > 0)
    }

    /// Nothing more may be to be expected of a flow.
    pub(crate) fn check_if_done(&mut self, id: FlowId, transit: &mut Transit) {
        let flow = &mut self.flows[id.index()];
        if !flow.is_done() {
            flow.note_if_done(transit.now());
            if flow.is_done() {
                self.on_flow_done(id, transit);
            }
        }
    }

    pub(crate) fn on_flow_done(&mut self, id: FlowId, transit: &mut Transit) {
        self.unfinished -= usize::from(self.flows[id.index()].has_end);
        transit.emit(&TraceEvent::FlowCompleted { flow: id });
    }

    /// The connection that a flow sends over has failed.
    #[cold]
    pub(crate) fn on_flow_failed(&mut self, id: FlowId, now: Instant) {
        let flow = &mut self.flows[id.index()];
        if !flow.is_done() {
            flow.gave_up_at = Some(now);
            self.unfinished -= usize::from(flow.has_end);
        }
    }

    /// A packet has left the queue of a wireless interface of a node, for a transmission that takes
    /// `time`. A source that saturates the queue puts in the next one.
    #[inline]
    pub(crate) fn left_queue(&mut self, node: NodeId, key: PacketKey, time: Duration, transit: &mut Transit) {
        if let Transport::Udp(udp) = *transit.packet(key).transport() {
            self.datagram_left_queue(node, key, udp, time, transit);
        }
    }

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
        if flow.from != node || !matches!(flow.source, Source::Bulk(_)) {
            return;
        }
        let Some(datagrams) = flow.datagrams() else { return };
        if datagrams.is_latest(packet) && !std::mem::replace(&mut datagrams.is_due, true) {
            // A coarse clock may make nothing of the time that datagrams take: sending again at
            // once would never end.
            let at = transit.now().max(datagrams.last_sent + time);
            transit.schedule(at, Event::FlowWrite(id));
        }
    }

    /// A packet has left the network before its destination.
    pub(crate) fn datagram_gone(&mut self, packet: &Packet, transit: &mut Transit) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams() {
            datagrams.note_gone();
        }
        self.check_if_done(id, transit);
    }

    /// An agent sends a packet.
    pub(crate) fn datagram_added(&mut self, packet: &Packet) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams() {
            datagrams.note_added();
        }
    }

    /// Scope datagram this is.
    pub(crate) fn flow_of_datagram(&self, packet: &Packet, udp: Udp) -> Option<FlowId> {
        let id = flow_of_ports(udp)?;
        match &self.flows.get(id.index())?.carrier {
            Carrier::Udp(datagrams) if datagrams.is_of(packet.ip(), udp) => Some(id),
            _ => None,
        }
    }

    /// What became of a flow from `since` to `now`, where at `since` it was as `earlier`.
    pub(crate) fn outcome(
        &self,
        id: FlowId,
        now: Instant,
        (since, earlier): (Instant, &FlowSoFar),
    ) -> FlowOutcome {
        let flow = &self.flows[id.index()];
        let measured = Measured { from: flow.start.max(since), until: flow.end(now) };
        let is_udp = flow.sender().is_none();
        let octets = flow.octets() - earlier.octets;
        FlowOutcome {
            name: flow.name.clone(),
            octets,
            completion: flow.done_at.filter(|_| !flow.is_stopped() && !is_udp).map(|at| at.since(flow.start)),
            measured,
            gave_up: flow.gave_up_at.filter(|_| flow.done_at.is_none()).map(|at| at.since(flow.start)),
            was_reset: flow.gave_up_at.is_some()
                && flow.sender().is_some_and(|id| self.connections[id.index()].tcp.was_reset()),
            intact: !flow.corrupted,
            transport: match &flow.carrier {
                Carrier::Tcp(transfer) => {
                    let sender = &self.connections[transfer.sender.index()].tcp;
                    let rtts = sender.rtt().samples().since(earlier.rtts);
                    let rtt_mean_s = rtts.mean().map(|mean| mean.as_secs_f64());
                    let sender = sender.stats().since(&earlier.sender);
                    TransportOutcome::Tcp(TcpOutcome { sender, rtt_mean_s })
                }
                Carrier::Udp(datagrams) => TransportOutcome::Udp(datagrams.outcome(&earlier.datagrams)),
            },
        }
    }

    /// What became of each flow so far.
    pub(crate) fn so_far(&self) -> Vec<FlowSoFar> {
        let of = |flow: &Flow| {
            let octets = flow.octets();
            match &flow.carrier {
                Carrier::Tcp(transfer) => {
                    let sender = &self.connections[transfer.sender.index()].tcp;
                    let (rtts, sender) = (sender.rtt().samples(), *sender.stats());
                    FlowSoFar { octets, sender, rtts, datagrams: Received::default() }
                }
                Carrier::Udp(datagrams) => {
                    FlowSoFar { octets, datagrams: datagrams.so_far(), ..FlowSoFar::default() }
                }
            }
        };
        self.flows.iter().map(of).collect()
    }
}

/// The sender's and the receiver's port.
pub(crate) fn ports(id: FlowId) -> (u16, u16) {
    (FIRST_PORT + (id.index() % PORTS) as u16, FIRST_RECEIVER_PORT + (id.index() / PORTS) as u16)
}

/// The flow that has these ports, if there is one.
fn flow_of_ports(udp: Udp) -> Option<FlowId> {
    let number = usize::from(udp.source_port.checked_sub(FIRST_PORT)?);
    let wraps = usize::from(udp.destination_port.checked_sub(FIRST_RECEIVER_PORT)?);
    (number < PORTS).then(|| FlowId::of(wraps * PORTS + number))
}
