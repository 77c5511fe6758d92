//! All calls and videos of a world: their ports, and which packet is whose.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};

use crate::id::{NodeId, PartyId, SessionId};
use lasthop_apps::media::Outgoing;
use lasthop_apps::media::call::{Call, START_PORT};

/// Calls whose ports are told apart.
const MOST: usize = ((u16::MAX - START_PORT) / 2) as usize;
/// A buffer that packets' octets are cut from is so large: an allocation is for a hundred packets
/// and not for each.
const CHUNK: usize = 16 << 10;

/// Every call.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    list: Vec<PlacedCall>,
    /// Where the octets of packets to come lie.
    chunk: BytesMut,
}

/// A call between two hosts.
#[derive(Debug)]
pub(crate) struct PlacedCall {
    pub(crate) session: SessionId,
    /// The two hosts.
    pub(crate) ends: [NodeId; 2],
    addresses: [IpAddr; 2],
    port: u16,
    pub(crate) call: Call,
    pub(crate) is_stopped: bool,
}

/// What a packet is to the call that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Who sent it.
    pub(crate) from: PartyId,
    is_report: bool,
}

impl Calls {
    /// Adds a call between two hosts with these addresses.
    pub(crate) fn add(&mut self, session: SessionId, ends: [(NodeId, IpAddr); 2], call: Call) -> usize {
        let index = self.list.len();
        let port = START_PORT + 2 * (index % MOST) as u16;
        let (ends, addresses) = (ends.map(|end| end.0), ends.map(|end| end.1));
        self.list.push(PlacedCall { session, ends, addresses, port, call, is_stopped: false });
        index
    }

    /// The call that a party is in.
    pub(crate) fn of(&mut self, party: PartyId) -> &mut PlacedCall {
        &mut self.list[party.index() / 2]
    }

    /// The call with this number.
    pub(crate) fn call(&self, index: usize) -> &PlacedCall {
        &self.list[index]
    }

    /// The packet that is due from a party.
    pub(crate) fn send(&mut self, party: PartyId, now: Instant) -> Option<Packet> {
        let Self { list, chunk } = self;
        let of = &mut list[party.index() / 2];
        let Outgoing { header, payload, .. } = of.call.send(party.index() % 2, now)?;
        let payload = Payload::Bytes(octets_of(&header, payload, chunk));
        Some(of.packet(party, of.port, payload))
    }

    /// Scope packet this is.
    #[inline]
    pub(crate) fn find(&self, packet: &Packet, udp: Udp) -> Option<Received> {
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
    pub(crate) fn stream_of(&mut self, packet: &Packet) -> Option<(&mut PlacedCall, usize)> {
        let Transport::Udp(udp) = *packet.transport() else { return None };
        let Received { from, is_report } = self.find(packet, udp)?;
        (!is_report).then(|| (&mut self.list[from.index() / 2], from.index() % 2))
    }
}

impl PlacedCall {
    /// A packet arrives; `false` if it is none that was sent.
    pub(crate) fn receive(&mut self, received: Received, packet: &Packet, now: Instant) -> bool {
        let from = received.from.index() % 2;
        match packet.payload() {
            payload if received.is_report => self.call.receive_report(from, &payload.octets(), now),
            Payload::Bytes(octets) => self.call.receive(from, octets, now).is_some(),
            Payload::Stream { .. } => false,
        }
    }

    /// A party's report.
    pub(crate) fn report(&mut self, party: PartyId, now: Instant) -> Packet {
        let octets = self.call.report(party.index() % 2, now);
        self.packet(party, self.port + 1, Payload::Bytes(Bytes::from(octets)))
    }

    /// Whether nothing more is to arrive.
    pub(crate) fn is_done(&self) -> bool {
        self.is_stopped && self.call.has_nothing_under_way()
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
