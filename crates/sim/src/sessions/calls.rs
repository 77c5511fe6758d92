//! All calls and videos of a world: their ports, and which packet is whose.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};

use crate::id::{NodeId, PartyId, SessionId};
use crate::schedule::Event;
use crate::transit::Transit;
use lasthop_apps::media::Outgoing;
use lasthop_apps::media::call::{Call, START_PORT};

/// Calls whose ports are told apart.
const MOST: usize = ((u16::MAX - START_PORT) / 2) as usize;
/// A buffer that packets' octets are cut from is so large: an allocation is for a hundred packets
/// and not for each.
const CHUNK: usize = 16 << 10;

/// Every call.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<PlacedCall>,
    /// Where the octets of packets to come lie.
    chunk: BytesMut,
}

/// A call between two hosts.
#[derive(Debug)]
struct PlacedCall {
    session: SessionId,
    /// The two hosts.
    ends: [NodeId; 2],
    addresses: [IpAddr; 2],
    port: u16,
    call: Call,
    is_stopped: bool,
}

/// What a packet is to the call that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    /// Who sent it.
    from: PartyId,
    is_report: bool,
}

impl Calls {
    /// Adds a call between two hosts with these addresses, whose streams start at `start`.
    pub(super) fn add(
        &mut self,
        session: SessionId,
        (ends, addresses): ([NodeId; 2], [IpAddr; 2]),
        call: Call,
        start: Instant,
        transit: &mut Transit,
    ) -> usize {
        let index = self.list.len();
        let port = START_PORT + 2 * (index % MOST) as u16;
        let mut placed = PlacedCall { session, ends, addresses, port, call, is_stopped: false };
        for side in 0..2 {
            let party = PartyId::of(2 * index + side);
            if let Some(next) = placed.call.next(side) {
                transit.schedule(next, Event::MediaDue(party));
            }
            transit.schedule(placed.call.next_report(side, start), Event::ReportDue(party));
        }
        self.list.push(placed);
        index
    }

    /// The call with this number.
    pub(super) fn call(&self, index: usize) -> &Call {
        &self.list[index].call
    }

    /// A call stops: it sends nothing more.
    pub(super) fn stop(&mut self, index: usize) {
        self.list[index].is_stopped = true;
    }

    /// Whether a call has stopped, and nothing more of it is to arrive.
    pub(super) fn is_done(&self, index: usize) -> bool {
        let PlacedCall { is_stopped, call, .. } = &self.list[index];
        *is_stopped && call.has_nothing_under_way()
    }

    /// The packet that is due from a party, with the node that sends it.
    pub(super) fn send(&mut self, party: PartyId, now: Instant) -> Option<(NodeId, Packet)> {
        let Self { list, chunk } = self;
        let of = &mut list[party.index() / 2];
        if of.is_stopped {
            return None;
        }
        let Outgoing { header, payload, .. } = of.call.send(party.index() % 2, now)?;
        let payload = Payload::Bytes(octets_of(&header, payload, chunk));
        Some((of.node(party), of.packet(party, of.port, payload)))
    }

    /// A party has sent its packet: when the next is due.
    pub(super) fn schedule_media(&self, party: PartyId, transit: &mut Transit) {
        if let Some(next) = self.list[party.index() / 2].call.next(party.index() % 2) {
            transit.schedule(next.max(transit.now()), Event::MediaDue(party));
        }
    }

    /// A party's report, which is due, with the node that sends it.
    pub(super) fn report(&mut self, party: PartyId, transit: &mut Transit) -> Option<(NodeId, Packet)> {
        let (of, side) = (&mut self.list[party.index() / 2], party.index() % 2);
        if of.is_stopped {
            return None;
        }
        let octets = of.call.report(side, transit.now());
        transit.schedule(of.call.next_report(side, transit.now()), Event::ReportDue(party));
        Some((of.node(party), of.packet(party, of.port + 1, Payload::Bytes(Bytes::from(octets)))))
    }

    /// A datagram has reached a host. If it is of a call there, that takes it: its session, and whether it is
    /// what was sent.
    pub(super) fn receive(
        &mut self,
        node: NodeId,
        packet: &Packet,
        now: Instant,
    ) -> Option<(SessionId, bool)> {
        let Transport::Udp(udp) = *packet.transport() else { return None };
        let received = self.find(packet, udp)?;
        let of = &mut self.list[received.from.index() / 2];
        let from = received.from.index() % 2;
        if of.ends[1 - from] != node {
            return None;
        }
        let is_right = match packet.payload() {
            payload if received.is_report => of.call.receive_report(from, &payload.octets(), now),
            Payload::Bytes(octets) => of.call.receive(from, octets, now).is_some(),
            Payload::Stream { .. } => false,
        };
        Some((of.session, is_right))
    }

    /// A packet has left the network before its destination. Returns the session whose stream it is of.
    pub(super) fn packet_gone(&mut self, packet: &Packet) -> Option<SessionId> {
        let (of, side) = self.stream_of(packet)?;
        of.call.note_gone(side);
        Some(of.session)
    }

    /// An agent sends a packet.
    pub(super) fn packet_added(&mut self, packet: &Packet) {
        if let Some((of, side)) = self.stream_of(packet) {
            of.call.note_added(side);
        }
    }

    /// Whose packet this is.
    #[inline]
    fn find(&self, packet: &Packet, udp: Udp) -> Option<Received> {
        let Udp { source_port, destination_port } = udp;
        if self.list.is_empty() || source_port != destination_port {
            return None;
        }
        let offset = destination_port.checked_sub(START_PORT)?;
        let index = usize::from(offset / 2);
        let call = self.list.get(index)?;
        let Ip { source, destination, .. } = *packet.ip();
        let side = (0..2)
            .find(|side| (source, destination) == (call.addresses[*side], call.addresses[1 - *side]))?;
        Some(Received { from: PartyId::of(2 * index + side), is_report: offset % 2 == 1 })
    }

    /// The call and the side that a packet of a stream is from, if it is one.
    fn stream_of(&mut self, packet: &Packet) -> Option<(&mut PlacedCall, usize)> {
        let Transport::Udp(udp) = *packet.transport() else { return None };
        let Received { from, is_report } = self.find(packet, udp)?;
        (!is_report).then(|| (&mut self.list[from.index() / 2], from.index() % 2))
    }
}

impl PlacedCall {
    /// The node of a party.
    fn node(&self, party: PartyId) -> NodeId {
        self.ends[party.index() % 2]
    }

    /// A packet from a party to the other; both have the same port.
    fn packet(&self, from: PartyId, port: u16, payload: Payload) -> Packet {
        let side = from.index() % 2;
        let ip = Ip::new(self.addresses[side], self.addresses[1 - side]);
        Packet::new(ip, Transport::Udp(Udp { source_port: port, destination_port: port }), payload)
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
