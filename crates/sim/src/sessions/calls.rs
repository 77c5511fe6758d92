//! All calls and videos of a world: their ports, and which packet is whose.

use bytes::{BufMut, Bytes, BytesMut};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};
use lasthop_tcp::connection::Socket;

use super::{Hosts, WorkOutcome};
use crate::id::{NodeId, PartyId, SessionId};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;
use lasthop_apps::media::call::{Call, START_PORT};
use lasthop_apps::media::{CallSoFar, Outgoing};
use lasthop_apps::session::{SessionResult, SessionSoFar};

/// Calls with different ports.
const MAX_CALLS: usize = ((u16::MAX - START_PORT) / 2) as usize;
/// The octets of a buffer that packets' octets are cut from: one allocation serves about a hundred
/// packets.
const CHUNK: usize = 16 << 10;

/// Every call.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    list: Vec<PlacedCall>,
    /// The buffer that octets of packets are cut from.
    chunk: BytesMut,
    /// Whether nodes translate addresses: then one end of a packet may be another than the party's own.
    are_translated: bool,
}

/// The addresses and ports by which the other party reaches a party: for RTP and for RTCP.
pub(crate) type Reached = [Socket; 2];

/// A call between two hosts.
#[derive(Debug)]
struct PlacedCall {
    session: SessionId,
    hosts: Hosts,
    port: u16,
    /// By party.
    reached: [Reached; 2],
    /// Whether the parties find out where to reach each other when they begin.
    signals: bool,
    call: Call,
    is_stopped: bool,
    /// A packet arrived that was not one sent: a broken simulation.
    corrupted: bool,
}

/// The role of a packet in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    /// Its sender.
    from: PartyId,
    is_report: bool,
}

impl Calls {
    /// Nodes translate addresses from now on.
    pub(crate) const fn expect_translation(&mut self) {
        self.are_translated = true;
    }

    /// The RTP port of the call that is added next, at both hosts; RTCP has the next one.
    pub(crate) fn next_port(&self) -> u16 {
        START_PORT + 2 * (self.list.len() % MAX_CALLS) as u16
    }

    /// Adds the call of a session, whose streams start at `start`. `signals`: whether the parties find out only then
    /// where to reach each other. Returns its number.
    pub(crate) fn add(
        &mut self,
        session: SessionId,
        (hosts, reached, signals): (Hosts, [Reached; 2], bool),
        mut call: Call,
        start: Instant,
        transit: &mut Transit,
    ) -> usize {
        let index = self.list.len();
        let port = self.next_port();
        for side in 0..2 {
            let party = PartyId::from_index(2 * index + side);
            if let Some(next) = call.next(side) {
                transit.schedule(next, Event::MediaDue(party));
            }
            transit.schedule(call.next_report(side, start), Event::ReportDue(party));
        }
        self.list.push(PlacedCall {
            session,
            hosts,
            port,
            reached,
            signals,
            call,
            is_stopped: false,
            corrupted: false,
        });
        index
    }

    /// The hosts and the RTP port of a party's call, if the parties have not found out yet where to reach each other.
    pub(crate) fn to_be_signaled(&self, party: PartyId) -> Option<(Hosts, u16)> {
        let call = &self.list[party.index() / 2];
        call.signals.then_some((call.hosts, call.port))
    }

    /// The parties have found out where to reach each other.
    pub(crate) fn on_signaled(&mut self, party: PartyId, reached: [Reached; 2]) {
        let call = &mut self.list[party.index() / 2];
        (call.reached, call.signals) = (reached, false);
    }

    /// A call stops: it sends nothing more.
    pub(crate) fn stop(&mut self, index: usize) {
        self.list[index].is_stopped = true;
    }

    /// The session of a call that has stopped, and of which nothing more is to arrive.
    pub(crate) fn done(&self, index: usize) -> Option<SessionId> {
        let PlacedCall { session, is_stopped, call, .. } = &self.list[index];
        (*is_stopped && call.has_nothing_under_way()).then_some(*session)
    }

    /// The outcome of a call since it was as `earlier`.
    pub(crate) fn outcome_since(&self, index: usize, earlier: &CallSoFar) -> WorkOutcome {
        let PlacedCall { call, corrupted, .. } = &self.list[index];
        let outcome = call.outcome_since(earlier);
        let octets = outcome.streams.iter().map(|(_, stream)| stream.octets).sum();
        WorkOutcome { octets, intact: !corrupted, result: SessionResult::Call(outcome) }
    }

    /// The outcome of a call so far.
    pub(crate) fn so_far(&self, index: usize) -> SessionSoFar {
        SessionSoFar { call: self.list[index].call.so_far(), ..SessionSoFar::default() }
    }

    /// The packet that is due from a party, with the node that sends it.
    pub(crate) fn send(&mut self, party: PartyId, now: Instant) -> Option<(NodeId, Packet)> {
        let Self { list, chunk, .. } = self;
        let of = &mut list[party.index() / 2];
        if of.is_stopped {
            return None;
        }
        let Outgoing { header, payload, .. } = of.call.send(party.index() % 2, now)?;
        let payload = Payload::Bytes(octets_of(&header, payload, chunk));
        Some((of.node(party), of.packet(party, false, payload)))
    }

    /// A party has sent its packet: when the next is due.
    pub(crate) fn schedule_media(&self, party: PartyId, transit: &mut Transit) {
        if let Some(next) = self.list[party.index() / 2].call.next(party.index() % 2) {
            transit.schedule(next.max(transit.now()), Event::MediaDue(party));
        }
    }

    /// A party's report, which is due, with the node that sends it.
    pub(crate) fn report(&mut self, party: PartyId, transit: &mut Transit) -> Option<(NodeId, Packet)> {
        let (of, side) = (&mut self.list[party.index() / 2], party.index() % 2);
        if of.is_stopped {
            return None;
        }
        let octets = of.call.report(side, transit.now());
        transit.schedule(of.call.next_report(side, transit.now()), Event::ReportDue(party));
        Some((of.node(party), of.packet(party, true, Payload::Bytes(Bytes::from(octets)))))
    }

    /// A datagram has reached a host. If it is of a call there, that takes it. Returns the call.
    pub(crate) fn receive(&mut self, node: NodeId, key: PacketKey, transit: &mut Transit) -> Option<usize> {
        let packet = transit.packet(key);
        let Received { from, is_report } = self.find(packet)?;
        let (index, from) = (from.index() / 2, from.index() % 2);
        let of = &mut self.list[index];
        if of.hosts.nodes[1 - from] != node {
            return None;
        }
        let is_right = match packet.payload() {
            payload if is_report => of.call.receive_report(from, &payload.octets(), transit.now()),
            Payload::Bytes(octets) => of.call.receive(from, octets, transit.now()).is_some(),
            Payload::Stream { .. } => false,
        };
        of.corrupted |= !is_right;
        transit.accounts_mut().consumed += 1;
        transit.packets_mut().remove(key);
        Some(index)
    }

    /// A packet has left the network before its destination. Returns the call whose stream it is of.
    pub(crate) fn packet_gone(&mut self, packet: &Packet) -> Option<usize> {
        let party = self.stream_of(packet)?;
        self.list[party.index() / 2].call.record_gone(party.index() % 2);
        Some(party.index() / 2)
    }

    /// An agent or a link adds a packet.
    pub(crate) fn packet_added(&mut self, packet: &Packet) {
        if let Some(party) = self.stream_of(packet) {
            self.list[party.index() / 2].call.record_added(party.index() % 2);
        }
    }

    /// The role of a packet in its call; `None` for packets of no call.
    #[inline]
    fn find(&self, packet: &Packet) -> Option<Received> {
        let Transport::Udp(Udp { source_port, destination_port }) = *packet.transport() else { return None };
        if self.list.is_empty() {
            return None;
        }
        if self.are_translated {
            return self.find_translated(packet, [source_port, destination_port]);
        }
        if source_port != destination_port {
            return None;
        }
        let offset = destination_port.checked_sub(START_PORT)?;
        let index = usize::from(offset / 2);
        let addresses = self.list.get(index)?.hosts.addresses;
        let Ip { source, destination, .. } = *packet.ip();
        let side = (0..2).find(|side| [source, destination] == [addresses[*side], addresses[1 - *side]])?;
        Some(Received { from: PartyId::from_index(2 * index + side), is_report: offset % 2 == 1 })
    }

    /// As [`Self::find`], by an end of the packet that is a party's own: the other one may be translated.
    #[cold]
    fn find_translated(&self, packet: &Packet, ports: [u16; 2]) -> Option<Received> {
        let Ip { source, destination, .. } = *packet.ip();
        // Other datagrams have the octets of simulated streams.
        let Payload::Bytes(_) = packet.payload() else { return None };
        [source, destination].into_iter().zip(ports).enumerate().find_map(|(end, (address, port))| {
            let offset = port.checked_sub(START_PORT)?;
            let index = usize::from(offset / 2);
            let addresses = self.list.get(index)?.hosts.addresses;
            let party = addresses.iter().position(|own| *own == address)?;
            let from = if end == 0 { party } else { 1 - party };
            Some(Received { from: PartyId::from_index(2 * index + from), is_report: offset % 2 == 1 })
        })
    }

    /// The party that a packet of a stream is from; `None` for other packets.
    fn stream_of(&self, packet: &Packet) -> Option<PartyId> {
        self.find(packet).filter(|received| !received.is_report).map(|received| received.from)
    }
}

impl PlacedCall {
    /// The node of a party.
    fn node(&self, party: PartyId) -> NodeId {
        self.hosts.nodes[party.index() % 2]
    }

    /// A packet from a party to the other. Both have the same port, but for translation.
    fn packet(&self, from: PartyId, is_report: bool, payload: Payload) -> Packet {
        let side = from.index() % 2;
        let (destination, destination_port) = self.reached[1 - side][usize::from(is_report)];
        let ip = Ip::new(self.hosts.addresses[side], destination);
        let udp = Udp { source_port: self.port + u16::from(is_report), destination_port };
        Packet::new(ip, Transport::Udp(udp), payload)
    }
}

/// The octets of a packet with a payload of this length, which is zeros.
fn octets_of(header: &Rtp, payload: usize, chunk: &mut BytesMut) -> Bytes {
    let len = Rtp::LEN + payload;
    if chunk.capacity() < len {
        chunk.reserve(CHUNK.max(len));
    }
    chunk.put_slice(&header.octets());
    chunk.put_bytes(0, payload);
    chunk.split_to(len).freeze()
}
