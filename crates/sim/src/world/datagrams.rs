//! Datagrams of flows on their way: sent, received, and gone.

use std::time::Duration;

use lasthop_packet::{Packet, Transport, Udp};

use super::flows::flow_of_ports;
use super::{Egress, World};
use crate::id::{AgentId, FlowId, NodeId, PipeId};
use crate::observe::{Interest, TraceEvent};
use crate::parcel::ParcelKey;

/// How long a saturating source waits where its datagram was taken away before it could wait in a
/// queue.
const RETRY: Duration = Duration::from_millis(1);

impl World {
    /// Sends a flow's next datagram; a source that saturates the first queue (`saturates`) is to
    /// send another when this one has left it.
    pub(super) fn send_datagram(&mut self, id: FlowId, saturates: bool) {
        let now = self.now;
        let flow = &mut self.flows[id.index()];
        let (from, to) = (flow.from, flow.to);
        let Some(datagrams) = flow.datagrams() else { return };
        datagrams.is_due = false;
        let gone = datagrams.gone();
        let packet = datagrams.send(now);
        let len = packet.len();
        let first_pipe = if saturates { self.first_pipe(from, to) } else { None };
        let free_at = first_pipe.map(|pipe| self.pipes[pipe.index()].free_at());

        let Some(key) = self.parcels.insert(|| Some(packet)) else { return };
        if self.wants(Interest::DATAGRAMS) {
            let event = TraceEvent::DatagramSent { flow: id, packet: self.parcels[key].packet() };
            super::tell(&mut self.observers, now, &event);
        }
        if self.originate(from, key) {
            self.route(from, key, AgentId::NONE);
        }
        if !saturates {
            return;
        }
        if let (Some(pipe), Some(free_at)) = (first_pipe, free_at) {
            let pipe = &mut self.pipes[pipe.index()];
            let start = free_at.max(now);
            let at = match pipe.free_at() {
                // It is the last in the queue, or on its way already.
                after if after > start => start,
                // It was refused.
                after if after > now => pipe.moves_at(now),
                // It took no time, by a coarse clock: sending again at once would never end.
                _ => now + pipe.exact_time(len).max(Duration::from_nanos(1)),
            };
            self.look_again(id, at);
        } else if let Some(datagrams) = self.flows[id.index()].datagrams()
            && datagrams.gone() != gone
            && !std::mem::replace(&mut datagrams.is_due, true)
        {
            self.look_again(id, now + RETRY);
        }
    }

    /// The first link of the way from one node to another, if it is a wired one: its queue tells
    /// beforehand when a packet leaves it.
    fn first_pipe(&mut self, from: NodeId, to: NodeId) -> Option<PipeId> {
        let interface = self.routes().interface(from.index(), to.index())?;
        match self.nodes[from.index()].interfaces[interface].egress {
            Egress::Pipe(pipe) => Some(pipe),
            Egress::Hop(_) | Egress::Radio(_) => None,
        }
    }

    /// A packet has left the queue of a wireless interface of a node, for a transmission that takes
    /// `time`: whatever arbitrates a medium calls this, once a packet. A source that saturates the
    /// queue puts in the next one.
    #[inline]
    pub(super) fn left_queue(&mut self, node: NodeId, key: ParcelKey, time: Duration) {
        if let Transport::Udp(udp) = *self.parcels[key].packet().transport() {
            self.datagram_left_queue(node, key, udp, time);
        }
    }

    fn datagram_left_queue(&mut self, node: NodeId, key: ParcelKey, udp: Udp, time: Duration) {
        let packet = self.parcels[key].packet();
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        let flow = &mut self.flows[id.index()];
        if flow.from != node || !matches!(flow.source, crate::traffic::Source::Bulk(_)) {
            return;
        }
        let Some(datagrams) = flow.datagrams() else { return };
        if datagrams.is_latest(packet) && !std::mem::replace(&mut datagrams.is_due, true) {
            // A coarse clock may make nothing of the time that datagrams take: sending again at
            // once would never end.
            let at = self.now.max(datagrams.last_sent + time);
            self.look_again(id, at);
        }
    }

    /// A datagram has reached the host that it is for.
    pub(super) fn deliver_datagram(&mut self, node: NodeId, key: ParcelKey, udp: Udp) {
        let packet = self.parcels[key].packet();
        let Some(id) = self.flow_of_datagram(packet, udp).filter(|id| self.flows[id.index()].to == node)
        else {
            self.deliver_otherwise(node, key);
            return;
        };
        self.accounts.consumed += 1;
        if self.interest.contains(Interest::DATAGRAMS) {
            let event = TraceEvent::DatagramReceived { flow: id, packet };
            super::tell(&mut self.observers, self.now, &event);
        }
        let flow = &mut self.flows[id.index()];
        if let Some(datagrams) = flow.datagrams() {
            flow.corrupted |= !datagrams.receive(packet, self.now);
        }
        self.parcels.remove(key);
        self.check_if_done(id);
    }

    /// A packet has left the network before its destination.
    pub(super) fn datagram_gone(&mut self, packet: &Packet) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams() {
            datagrams.note_gone();
        }
        self.check_if_done(id);
    }

    /// An agent sends a packet.
    pub(super) fn datagram_added(&mut self, packet: &Packet) {
        let Transport::Udp(udp) = *packet.transport() else { return };
        let Some(id) = self.flow_of_datagram(packet, udp) else { return };
        if let Some(datagrams) = self.flows[id.index()].datagrams() {
            datagrams.note_added();
        }
    }

    /// Whose datagram this is.
    fn flow_of_datagram(&self, packet: &Packet, udp: Udp) -> Option<FlowId> {
        let id = flow_of_ports(udp)?;
        match &self.flows.get(id.index())?.carrier {
            crate::flow::Carrier::Udp(datagrams) if datagrams.is_of(packet.ip(), udp) => Some(id),
            _ => None,
        }
    }
}
