//! Flows: adding them, and their applications' starts, writes and stops.

use lasthop_packet::{Ip, Seq, Udp};
use lasthop_tcp::Connection;

use super::World;
use crate::config::{FlowConfig, Opening, TcpConfig, TransportConfig};
use crate::flow::{Carrier, Flow, Transfer};
use crate::hosts::ports;
use crate::id::{FlowId, NodeId};
use crate::observe::TraceEvent;
use crate::schedule::Event;
use lasthop_apps::datagrams::Datagrams;
use lasthop_apps::traffic::{Next, Source, Write};

impl World {
    /// Adds a flow.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        let id = FlowId::of(self.hosts.flows.len());
        let FlowConfig { name, from, to, start, stop, application, transport } = config;
        let start = start.max(self.transit.now());
        let stream = id.index() as u32 + 1;
        let size = application.size();
        let carrier = match transport {
            TransportConfig::Tcp(tcp) => Carrier::Tcp(self.connect(id, &name, (from, to), tcp, size)),
            TransportConfig::Udp => {
                // It wants to know when a packet leaves a queue.
                self.links.cells.tell_fates();
                let (source_port, destination_port) = ports(id);
                let ip = Ip::new(self.node_address(from), self.node_address(to));
                let udp = Udp { source_port, destination_port };
                Carrier::Udp(Box::new(Datagrams::new(ip, udp, stream, application.message())))
            }
        };
        let rng = self.stream(&format!("flow {} {name} application", id.index()));
        let has_end = size.is_some() || stop.is_some();
        self.hosts.add_flow(Flow {
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
            gave_up_at: None,
            corrupted: false,
        });
        self.transit.schedule(start, Event::FlowStart(id));
        if let Some(stop) = stop {
            self.transit.schedule(stop.max(self.transit.now()), Event::FlowStop(id));
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
        self.transit.add_stream(local, remote, iss + 1);
        let sender = self.hosts.add_connection(from, id, sender, true, (local, remote));
        self.hosts.add_connection(to, id, receiver, false, (remote, local));
        Transfer { sender, opening, written: 0, received: 0, expected: size }
    }

    pub(super) fn on_flow_start(&mut self, id: FlowId) {
        let flow = &mut self.hosts.flows[id.index()];
        if flow.is_stopped() {
            return;
        }
        if let (Source::Bulk(_), Carrier::Tcp(transfer)) = (&flow.source, &mut flow.carrier) {
            // Without an end: more than any run can carry.
            transfer.written = flow.size.unwrap_or(1 << 60);
            let tcp = &mut self.hosts.connections[transfer.sender.index()].tcp;
            tcp.write_stream(flow.stream, 0, transfer.written);
            if transfer.opening == Opening::Handshake && flow.size.is_some() {
                tcp.close();
            }
            let sender = transfer.sender;
            self.transit.emit(&TraceEvent::FlowStarted { flow: id });
            // There is no last octet of nothing whose arrival would complete it.
            self.hosts.check_if_done(id, &mut self.transit);
            self.pump(sender);
        } else {
            self.transit.emit(&TraceEvent::FlowStarted { flow: id });
            self.on_flow_write(id);
        }
    }

    /// It is the application's turn.
    pub(super) fn on_flow_write(&mut self, id: FlowId) {
        let flow = &mut self.hosts.flows[id.index()];
        if flow.is_stopped() {
            return;
        }
        let Write { octets, next } = flow.source.write();
        match &mut flow.carrier {
            _ if octets == 0 => {}
            Carrier::Tcp(transfer) => {
                let tcp = &mut self.hosts.connections[transfer.sender.index()].tcp;
                tcp.write_stream(flow.stream, transfer.written, u64::from(octets));
                transfer.written += u64::from(octets);
                let sender = transfer.sender;
                self.pump(sender);
            }
            Carrier::Udp(_) => self.send_datagram(id, next == Next::WhenSent),
        }
        match next {
            Next::At(at) => self.transit.schedule(at.max(self.transit.now()), Event::FlowWrite(id)),
            // Who sent it knows when.
            Next::WhenSent => {}
            Next::Never => self.end_writing(id),
        }
    }

    pub(super) fn on_flow_stop(&mut self, id: FlowId) {
        let flow = &self.hosts.flows[id.index()];
        if !flow.is_done() && !flow.is_stopped() {
            self.end_writing(id);
        }
    }

    /// The application writes nothing more: what was sent is still to arrive. Of a bulk transfer
    /// what was not sent is left undone; what an application wrote in its time is not.
    fn end_writing(&mut self, id: FlowId) {
        let flow = &mut self.hosts.flows[id.index()];
        flow.stopped_at = Some(self.transit.now());
        let Carrier::Tcp(transfer) = &mut flow.carrier else {
            self.hosts.check_if_done(id, &mut self.transit);
            return;
        };
        let sender = transfer.sender;
        let tcp = &mut self.hosts.connections[sender.index()].tcp;
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
        self.hosts.check_if_done(id, &mut self.transit);
        self.pump(sender);
    }
}
