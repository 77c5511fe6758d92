//! The flows of a world: the writes of their applications, their datagrams, and their ends.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_apps::datagrams::Datagrams;
use lasthop_apps::traffic::Next;
use lasthop_packet::{Instant, Packet, Payload, Transport};
use lasthop_tcp::connection::Socket;

use crate::endpoint::Endpoint;
use crate::flow::{Flow, Written};
use crate::id::{FlowId, NodeId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;

/// Ports tell the flows of a pair of hosts apart: the sender's counts them from here, and wraps
/// after this many.
const FIRST_PORT: u16 = 10_000;
const PORTS: usize = 50_000;
/// The receiver's counts the times that the sender's wrapped.
const FIRST_RECEIVER_PORT: u16 = 5_001;

#[derive(Default)]
pub(crate) struct Flows {
    list: Vec<Flow>,
    /// Flows with an end.
    with_end: usize,
    /// Flows with an end that are not done yet.
    unfinished: usize,
    /// Flows that send the next datagram when a link is no longer stalled.
    stalled: Vec<FlowId>,
    /// Whether nodes translate addresses: then the payload of a datagram says whose it is.
    are_translated: bool,
}

/// Which flows there are.
impl Flows {
    /// The flow that is added next.
    pub(crate) fn next_id(&self) -> FlowId {
        FlowId::from_index(self.list.len())
    }

    /// The addresses and ports of a flow's sender and receiver, which have these addresses.
    pub(crate) fn sockets(id: FlowId, [from, to]: [IpAddr; 2]) -> [Socket; 2] {
        let number = id.index();
        let ports = (FIRST_PORT + (number % PORTS) as u16, FIRST_RECEIVER_PORT + (number / PORTS) as u16);
        [(from, ports.0), (to, ports.1)]
    }

    /// Adds a flow that starts, and stops, at these times.
    pub(crate) fn add(&mut self, flow: Flow, start: Instant, stop: Option<Instant>, transit: &mut Transit) {
        let id = self.next_id();
        self.with_end += usize::from(flow.has_end());
        self.unfinished += usize::from(flow.has_end());
        self.list.push(flow);
        transit.schedule(start, Event::FlowStart(id));
        if let Some(stop) = stop {
            transit.schedule(stop.max(transit.now()), Event::FlowStop(id));
        }
    }

    pub(crate) fn get(&self, id: FlowId) -> &Flow {
        &self.list[id.index()]
    }

    /// All flows, in the order of addition.
    pub(crate) fn all(&self) -> &[Flow] {
        &self.list
    }

    /// Whether a flow that ends is not done; `None` if none ends.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (self.with_end > 0).then_some(self.unfinished > 0)
    }
}

/// Writes of their applications, and their ends.
impl Flows {
    /// A flow starts: a bulk transfer over a connection writes all its data, another application writes for the
    /// first time. Returns the same as [`Self::write`].
    pub(crate) fn start(&mut self, id: FlowId, transit: &mut Transit) -> Option<(Written, Next)> {
        let flow = &mut self.list[id.index()];
        if flow.is_stopped() {
            return None;
        }
        let all = flow.write_all();
        transit.emit(&TraceEvent::FlowStarted { flow: id });
        let Some(all) = all else { return self.write(id) };
        // An empty transfer is complete now: no arrival completes it.
        self.check_if_done(id, transit);
        Some((Written::Stream(all), Next::WhenSent))
    }

    /// An application writes. Returns what it wrote, and when it writes next; `None` if it was stopped.
    pub(crate) fn write(&mut self, id: FlowId) -> Option<(Written, Next)> {
        let flow = &mut self.list[id.index()];
        (!flow.is_stopped()).then(|| flow.write())
    }

    /// An application stops.
    pub(crate) fn stop(&mut self, id: FlowId, now: Instant) {
        self.list[id.index()].stop(now);
    }

    /// The sender of a bulk transfer that was stopped has sent this many octets.
    pub(crate) fn expect(&mut self, id: FlowId, sent: u64) {
        self.list[id.index()].expect(sent);
    }

    /// The receiving application of a flow reads what has arrived at its endpoint, and closes with the
    /// sender.
    #[inline]
    pub(crate) fn read<E: Endpoint + ?Sized>(&mut self, id: FlowId, endpoint: &mut E, transit: &mut Transit) {
        let flow = &mut self.list[id.index()];
        let mut has_read = false;
        while let Some(payload) = endpoint.read() {
            flow.receive(&payload);
            has_read = true;
        }
        if endpoint.peer_has_closed() {
            endpoint.close();
        }
        if has_read && flow.record_if_done(transit.now()) {
            self.on_done(id, transit);
        }
    }

    /// Records that a flow is done if nothing more of it is to arrive.
    pub(crate) fn check_if_done(&mut self, id: FlowId, transit: &mut Transit) {
        let flow = &mut self.list[id.index()];
        if !flow.is_done() && flow.record_if_done(transit.now()) {
            self.on_done(id, transit);
        }
    }

    fn on_done(&mut self, id: FlowId, transit: &mut Transit) {
        self.unfinished -= usize::from(self.list[id.index()].has_end());
        transit.emit(&TraceEvent::FlowCompleted { flow: id });
    }

    /// The connection of a flow has failed.
    #[cold]
    pub(crate) fn fail(&mut self, id: FlowId, now: Instant) {
        let flow = &mut self.list[id.index()];
        if !flow.is_done() {
            flow.give_up(now);
            self.unfinished -= usize::from(flow.has_end());
        }
    }
}

/// Their datagrams: sent, received, and gone.
impl Flows {
    /// A flow's next datagram, with the node that sends it.
    pub(crate) fn next_datagram(&mut self, id: FlowId, now: Instant) -> Option<(NodeId, Packet)> {
        let flow = &mut self.list[id.index()];
        let from = flow.from();
        let datagrams = flow.datagrams_mut()?;
        datagrams.is_due = false;
        Some((from, datagrams.send(now)))
    }

    /// A flow's datagrams go to this address and port.
    pub(crate) fn send_to(&mut self, id: FlowId, to: Socket) {
        if let Some(datagrams) = self.list[id.index()].datagrams_mut() {
            datagrams.send_to(to);
        }
    }

    /// Datagrams of a flow that left the network before their destination.
    pub(crate) fn gone(&self, id: FlowId) -> u64 {
        self.get(id).datagrams().map_or(0, Datagrams::gone)
    }

    /// A flow's next datagram is due at a later time, unless it is due already.
    pub(crate) fn schedule_datagram(&mut self, id: FlowId, at: Instant, transit: &mut Transit) {
        if let Some(datagrams) = self.list[id.index()].datagrams_mut()
            && !std::mem::replace(&mut datagrams.is_due, true)
        {
            transit.schedule(at, Event::FlowWrite(id));
        }
    }

    /// A flow sends its next datagram when a link is no longer stalled.
    pub(crate) fn stall(&mut self, id: FlowId) {
        self.stalled.push(id);
    }

    /// The flows that were stalled.
    pub(crate) fn take_stalled(&mut self) -> Vec<FlowId> {
        std::mem::take(&mut self.stalled)
    }

    /// A datagram has reached a host. Whether it is a flow's, and was taken.
    pub(crate) fn receive_datagram(&mut self, node: NodeId, key: PacketKey, transit: &mut Transit) -> bool {
        let Some(id) = self.of_datagram(transit.packet(key)).filter(|id| self.get(*id).to() == node) else {
            return false;
        };
        transit.accounts_mut().consumed += 1;
        transit.trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramReceived { flow: id, packet });
        self.list[id.index()].receive_datagram(transit.packet(key), transit.now());
        transit.packets_mut().remove(key);
        self.check_if_done(id, transit);
        true
    }

    /// A packet has left the queue of a wireless interface of a node, for a transmission that takes
    /// `time`. A source that saturates the queue sends the next datagram.
    #[inline]
    pub(crate) fn left_queue(&mut self, node: NodeId, key: PacketKey, time: Duration, transit: &mut Transit) {
        if matches!(transit.packet(key).transport(), Transport::Udp(_)) {
            self.datagram_left_queue(node, key, time, transit);
        }
    }

    // Not inlined, so that it costs segments nothing.
    #[inline(never)]
    fn datagram_left_queue(&mut self, node: NodeId, key: PacketKey, time: Duration, transit: &mut Transit) {
        let packet = transit.packet(key);
        let Some(id) = self.of_datagram(packet) else { return };
        let flow = self.get(id);
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
    pub(crate) fn packet_gone(&mut self, packet: &Packet, transit: &mut Transit) {
        let Some(id) = self.of_datagram(packet) else { return };
        if let Some(datagrams) = self.list[id.index()].datagrams_mut() {
            datagrams.record_gone();
        }
        self.check_if_done(id, transit);
    }

    /// An agent or a link adds a packet.
    pub(crate) fn packet_added(&mut self, packet: &Packet) {
        let Some(id) = self.of_datagram(packet) else { return };
        if let Some(datagrams) = self.list[id.index()].datagrams_mut() {
            datagrams.record_added();
        }
    }

    /// Nodes translate addresses from now on.
    pub(crate) const fn expect_translation(&mut self) {
        self.are_translated = true;
    }

    /// The flow that a packet is a datagram of; `None` for other packets.
    fn of_datagram(&self, packet: &Packet) -> Option<FlowId> {
        let Transport::Udp(udp) = *packet.transport() else { return None };
        if self.are_translated
            && let Payload::Stream { stream: stream @ 1.., .. } = *packet.payload()
        {
            // Flows' streams are counted from 1 on.
            let id = FlowId::from_index(stream as usize - 1);
            return self.list.get(id.index())?.datagrams().map(|_| id);
        }
        let number = usize::from(udp.source_port.checked_sub(FIRST_PORT)?);
        let wraps = usize::from(udp.destination_port.checked_sub(FIRST_RECEIVER_PORT)?);
        let index = (number < PORTS).then_some(wraps * PORTS + number)?;
        let datagrams = self.list.get(index)?.datagrams()?;
        datagrams.is_of(packet.ip(), udp).then(|| FlowId::from_index(index))
    }
}
