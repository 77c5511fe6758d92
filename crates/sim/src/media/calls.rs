//! All calls and videos: their ports, and which packet is whose.

use std::net::IpAddr;

use bytes::{Bytes, BytesMut};
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Transport, Udp};

use super::participant::Participant;
use super::stream::{Stream, StreamOutcome};
use crate::id::{NodeId, PartyId, SessionId};
use crate::traffic::media::Source;

/// A call's port for RTP is even, the next one is RTCP's (RFC 3550, section 11); the first call's
/// are these, and each call has its own.
pub(crate) const START_PORT: u16 = 16_384;
/// Calls whose ports are told apart.
const MOST: usize = ((u16::MAX - START_PORT) / 2) as usize;

/// Every call.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    list: Vec<Call>,
    /// Where the octets of packets to come lie.
    chunk: BytesMut,
}

/// Streams between two hosts, one or one each way, and the reports on them.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) session: SessionId,
    /// The two hosts.
    pub(crate) ends: [NodeId; 2],
    addresses: [IpAddr; 2],
    port: u16,
    /// By who sends.
    pub(crate) streams: [Option<Stream>; 2],
    participants: [Participant; 2],
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
    /// Adds a call between two hosts with these addresses; `sources` say what each sends.
    pub(crate) fn add(
        &mut self,
        session: SessionId,
        ends: [(NodeId, IpAddr); 2],
        sources: [Option<Source>; 2],
        start: Instant,
        [numbers, first_reports, second_reports]: &mut [Rng; 3],
    ) -> usize {
        let index = self.list.len();
        let port = START_PORT + 2 * (index % MOST) as u16;
        let (ends, addresses) = (ends.map(|end| end.0), ends.map(|end| end.1));
        let udp = Udp { source_port: port, destination_port: port };
        let [first, second] = sources;
        let mut one_way = |source: Option<Source>, from: IpAddr, to: IpAddr| {
            source.map(|source| Stream::new(source, (Ip::new(from, to), udp), start, numbers))
        };
        let streams =
            [one_way(first, addresses[0], addresses[1]), one_way(second, addresses[1], addresses[0])];
        let participants = [0, 1].map(|side| {
            let sends = streams[side].as_ref();
            let ssrc = sends.map_or_else(|| numbers.next_u64() as u32, Stream::ssrc);
            let rng = if side == 0 { &*first_reports } else { &*second_reports };
            Participant::new(ssrc, format!("lasthop@{}", addresses[side]), rng.clone())
        });
        self.list.push(Call { session, ends, addresses, port, streams, participants, is_stopped: false });
        index
    }

    /// The call that a party is in.
    pub(crate) fn of(&mut self, party: PartyId) -> &mut Call {
        &mut self.list[party.index() / 2]
    }

    /// The call with this number.
    pub(crate) fn call(&self, index: usize) -> &Call {
        &self.list[index]
    }

    /// The packet that is due from a party.
    pub(crate) fn send(&mut self, party: PartyId, now: Instant) -> Option<Packet> {
        let Self { list, chunk } = self;
        let stream = list[party.index() / 2].streams[party.index() % 2].as_mut()?;
        Some(stream.send(now, chunk))
    }

    /// Whose packet this is.
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

    /// The stream that a packet is of, if it is of one.
    pub(crate) fn stream_of(&mut self, packet: &Packet) -> Option<(usize, &mut Stream)> {
        let Transport::Udp(udp) = *packet.transport() else { return None };
        let Received { from, is_report } = self.find(packet, udp)?;
        let index = from.index() / 2;
        let stream = self.list[index].streams[from.index() % 2].as_mut();
        stream.filter(|_| !is_report).map(|stream| (index, stream))
    }
}

impl Call {
    /// A packet arrives; `false` if it is none that was sent.
    pub(crate) fn receive(&mut self, received: Received, packet: &Packet, now: Instant) -> bool {
        let from = received.from.index() % 2;
        if received.is_report {
            return self.participants[1 - from].hear(&packet.payload().octets(), now);
        }
        self.streams[from].as_mut().is_some_and(|stream| stream.receive(packet, now))
    }

    /// A party's report.
    pub(crate) fn report(&mut self, party: PartyId, now: Instant) -> Packet {
        let side = party.index() % 2;
        let Self { streams, participants, addresses, port, .. } = self;
        let octets = participants[side].report(now, streams[side].as_ref(), streams[1 - side].as_ref());
        let udp = Udp { source_port: *port + 1, destination_port: *port + 1 };
        let ip = Ip::new(addresses[side], addresses[1 - side]);
        Packet::new(ip, Transport::Udp(udp), Payload::Bytes(Bytes::from(octets)))
    }

    /// When a party reports next.
    pub(crate) fn next_report(&mut self, party: PartyId, now: Instant) -> Instant {
        now + self.participants[party.index() % 2].interval()
    }

    /// Whether nothing more is to arrive.
    pub(crate) fn is_done(&self) -> bool {
        self.is_stopped && self.streams.iter().flatten().all(|stream| stream.in_network() == 0)
    }

    /// What became of its streams, each with who sends it.
    pub(crate) fn outcomes(&self) -> Vec<(usize, StreamOutcome)> {
        let streams = self.streams.iter().enumerate();
        streams.filter_map(|(side, stream)| Some((side, stream.as_ref()?.outcome()))).collect()
    }

    /// Reports sent, and reports that arrived.
    pub(crate) fn reports(&self) -> (u64, u64) {
        let of = self.participants.iter();
        of.fold((0, 0), |(sent, received), one| (sent + one.reports_sent, received + one.reports_received))
    }
}
