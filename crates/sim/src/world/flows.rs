//! Flows: adding them, and their applications' starts, writes and stops.

use lasthop_packet::{Instant, Ip, Seq, Udp};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::Endpoint;

use super::World;
use super::hosts::HostedConnection;
use crate::config::{FlowConfig, Opening, TcpConfig, TransportConfig};
use crate::datagrams::Datagrams;
use crate::flow::{Carrier, Flow, Transfer};
use crate::id::{ConnectionId, FlowId, NodeId};
use crate::observe::TraceEvent;
use crate::schedule::{Event, LazyTimer};
use crate::traffic::{Next, Source, Write};

/// Ports tell the flows of a pair of hosts apart: the sender's counts them from here, and wraps
/// after so many.
const FIRST_PORT: u16 = 10_000;
const PORTS: usize = 50_000;
/// The receiver's counts the times that the sender's wrapped.
const FIRST_RECEIVER_PORT: u16 = 5_001;

/// The sender's and the receiver's port.
fn ports(id: FlowId) -> (u16, u16) {
    (FIRST_PORT + (id.index() % PORTS) as u16, FIRST_RECEIVER_PORT + (id.index() / PORTS) as u16)
}

/// The flow that has these ports, if there is one.
pub(super) fn flow_of_ports(udp: Udp) -> Option<FlowId> {
    let number = usize::from(udp.source_port.checked_sub(FIRST_PORT)?);
    let wraps = usize::from(udp.destination_port.checked_sub(FIRST_RECEIVER_PORT)?);
    (number < PORTS).then(|| FlowId::of(wraps * PORTS + number))
}

impl World {
    /// Adds a flow.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        let id = FlowId::of(self.flows.len());
        let FlowConfig { name, from, to, start, stop, application, transport } = config;
        let start = start.max(self.now);
        let stream = id.index() as u32 + 1;
        let size = application.size();
        let carrier = match transport {
            TransportConfig::Tcp(tcp) => Carrier::Tcp(self.connect(id, &name, (from, to), tcp, size)),
            TransportConfig::Udp => {
                let (source_port, destination_port) = ports(id);
                let ip = Ip::new(self.node_address(from), self.node_address(to));
                let udp = Udp { source_port, destination_port };
                Carrier::Udp(Box::new(Datagrams::new(ip, udp, stream, application.message())))
            }
        };
        let rng = self.stream(&format!("flow {} {name} application", id.index()));
        let has_end = size.is_some() || stop.is_some();
        self.flows.push(Flow {
            name,
            from,
            to,
            start,
            size,
            source: Source::new(&application, start, rng),
            carrier,
            stream,
            has_end,
            stopped_at: None,
            done_at: None,
            corrupted: false,
        });
        self.unfinished += usize::from(has_end);
        self.is_endless &= !has_end;
        self.schedule.push(start, Event::FlowStart(id));
        if let Some(stop) = stop {
            self.schedule.push(stop.max(self.now), Event::FlowStop(id));
        }
        id
    }

    /// The two endpoints of a flow over TCP.
    fn connect(
        &mut self,
        id: FlowId,
        name: &str,
        (from, to): (NodeId, NodeId),
        config: TcpConfig,
        size: Option<u64>,
    ) -> Transfer {
        let ports = ports(id);
        let (local, remote) = ((self.node_address(from), ports.0), (self.node_address(to), ports.1));
        // Initial sequence numbers anywhere: wrapping is the rule, not the exception.
        let mut numbers = self.stream(&format!("flow {} {name} numbers", id.index()));
        let (iss, irs) = (Seq(numbers.next_u64() as u32), Seq(numbers.next_u64() as u32));
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
        let sender = self.host(from, id, sender, true, (local, remote));
        self.host(to, id, receiver, false, (remote, local));
        Transfer { sender, opening, written: 0, received: 0, expected: size }
    }

    fn host(
        &mut self,
        node: NodeId,
        flow: FlowId,
        tcp: Connection,
        sends: bool,
        (local, remote): (Endpoint, Endpoint),
    ) -> ConnectionId {
        let id = ConnectionId::of(self.connections.len());
        self.nodes[node.index()].endpoints.insert((local.1, remote.1, remote.0), id);
        self.connections.push(HostedConnection { tcp, node, flow, sends, timer: LazyTimer::default() });
        id
    }

    pub(super) fn on_flow_start(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.index()];
        if flow.is_stopped() {
            return;
        }
        if let (Source::Bulk(_), Carrier::Tcp(transfer)) = (&flow.source, &mut flow.carrier) {
            // Without an end: more than any run can carry.
            transfer.written = flow.size.unwrap_or(1 << 60);
            let tcp = &mut self.connections[transfer.sender.index()].tcp;
            tcp.write_stream(flow.stream, 0, transfer.written);
            if transfer.opening == Opening::Handshake && flow.size.is_some() {
                tcp.close();
            }
            let sender = transfer.sender;
            self.emit(&TraceEvent::FlowStarted { flow: id });
            // There is no last octet of nothing whose arrival would complete it.
            self.check_if_done(id);
            self.pump(sender);
        } else {
            self.emit(&TraceEvent::FlowStarted { flow: id });
            self.on_flow_write(id);
        }
    }

    /// It is the application's turn.
    pub(super) fn on_flow_write(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.index()];
        if flow.is_stopped() {
            return;
        }
        let Write { octets, next } = flow.source.write();
        match &mut flow.carrier {
            _ if octets == 0 => {}
            Carrier::Tcp(transfer) => {
                let tcp = &mut self.connections[transfer.sender.index()].tcp;
                tcp.write_stream(flow.stream, transfer.written, u64::from(octets));
                transfer.written += u64::from(octets);
                let sender = transfer.sender;
                self.pump(sender);
            }
            Carrier::Udp(_) => self.send_datagram(id, next == Next::WhenSent),
        }
        match next {
            Next::At(at) => self.schedule.push(at.max(self.now), Event::FlowWrite(id)),
            // Who sent it knows when.
            Next::WhenSent => {}
            Next::Never => self.end_writing(id),
        }
    }

    pub(super) fn on_flow_stop(&mut self, id: FlowId) {
        let flow = &self.flows[id.index()];
        if !flow.is_done() && !flow.is_stopped() {
            self.end_writing(id);
        }
    }

    /// The application writes nothing more: what was sent is still to arrive. Of a bulk transfer
    /// what was not sent is left undone; what an application wrote in its time is not.
    fn end_writing(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.index()];
        flow.stopped_at = Some(self.now);
        let Carrier::Tcp(transfer) = &mut flow.carrier else {
            self.check_if_done(id);
            return;
        };
        let sender = transfer.sender;
        let tcp = &mut self.connections[sender.index()].tcp;
        if matches!(flow.source, Source::Bulk(_)) {
            tcp.discard_unsent();
        }
        if transfer.opening == Opening::Handshake {
            tcp.close();
        }
        transfer.expected = Some(if matches!(flow.source, Source::Bulk(_)) {
            tcp.stats().octets_acknowledged + tcp.unacknowledged()
        } else {
            transfer.written
        });
        self.check_if_done(id);
        self.pump(sender);
    }

    /// Nothing more may be to be expected of a flow.
    pub(super) fn check_if_done(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.index()];
        if !flow.is_done() {
            flow.note_if_done(self.now);
            if flow.is_done() {
                self.on_flow_done(id);
            }
        }
    }

    pub(super) fn on_flow_done(&mut self, flow: FlowId) {
        self.unfinished -= usize::from(self.flows[flow.index()].has_end);
        self.emit(&TraceEvent::FlowCompleted { flow });
    }

    /// Looks at a flow's application again at `at`.
    pub(super) fn look_again(&mut self, id: FlowId, at: Instant) {
        self.schedule.push(at, Event::FlowWrite(id));
    }
}
