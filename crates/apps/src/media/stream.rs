//! One direction of a call: numbered RTP packets, and the receiver's statistics.

use std::ops::Range;

use lasthop_packet::rtp::{Rtp, RtpPacket};
use lasthop_packet::{Instant, Rng};

use super::playout::Buffer;
use super::quality::CallQuality;
use crate::datagrams::{Received, Reception, SendingTimes, UdpOutcome};
use crate::durations::Durations;
use crate::traffic::media::Source;
use crate::traffic::sample::Sample;

/// The outcome of one direction of a call or a video.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOutcome {
    /// The counts and delays of its packets. The jitter is computed from the times at which they
    /// were sent, not from RTP timestamps.
    pub packets: UdpOutcome,
    /// Octets of payload received, without the RTP header, each packet once.
    pub octets: u64,
    /// Packets that arrived too late to be played; 0 without a playout buffer.
    pub late: u64,
    /// The quality of the speech; `None` for video, or if no packet has arrived or is known to be
    /// lost.
    pub quality: Option<CallQuality>,
    /// All delays, for callers that merge several streams.
    pub delays: Durations,
}

/// The statistics of a stream up to some time.
#[derive(Clone, Debug, Default)]
pub struct StreamSoFar {
    packets: Received,
    octets: u64,
    late: u64,
}

/// A packet for the caller to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The packet's number in its stream, from 0.
    pub number: u64,
    /// The RTP header.
    pub header: Rtp,
    /// The length of the payload in octets.
    pub payload: usize,
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The packet's number in its stream, from 0.
    pub number: u64,
    /// The range of the payload in the packet.
    pub payload: Range<usize>,
}

/// One direction of a call. The sequence number identifies a packet; the sender stores the times at
/// which packets were sent.
#[derive(Debug)]
pub(super) struct Stream {
    source: Source,
    /// The header of the first packet.
    first: Rtp,
    /// The time of the first timestamp.
    started: Instant,
    buffer: Option<Buffer>,
    sent: u64,
    sent_octets: u64,
    received_octets: u64,
    times: SendingTimes,
    reception: Reception,
    /// Copies that agents sent.
    added: u64,
    /// Copies that have left the network, including those that arrived.
    gone: u64,
}

impl Stream {
    pub(super) fn new(source: Source, start: Instant, rng: &mut Rng) -> Self {
        // RFC 3550, section 5.1: the first sequence number and timestamp, and the SSRC, are random.
        let (numbers, ssrc) = (rng.next_u64(), rng.next_u64() as u32);
        let (sequence, timestamp) = ((numbers >> 32) as u16, numbers as u32);
        let first = Rtp { marker: false, payload_type: source.payload_type(), sequence, timestamp, ssrc };
        Self {
            buffer: source.playout().map(Buffer::new),
            source,
            first,
            started: start,
            sent: 0,
            sent_octets: 0,
            received_octets: 0,
            times: SendingTimes::default(),
            reception: Reception::default(),
            added: 0,
            gone: 0,
        }
    }

    /// The time of the next packet.
    pub(super) fn next(&self) -> Instant {
        self.source.next()
    }

    /// Returns the packet that is due.
    pub(super) fn send(&mut self, now: Instant) -> Outgoing {
        let Sample { octets, marker, sampled } = self.source.write();
        let header = Rtp {
            marker,
            sequence: self.first.sequence.wrapping_add(self.sent as u16),
            timestamp: self.timestamp(sampled),
            ..self.first
        };
        let number = self.sent;
        self.sent += 1;
        self.sent_octets += u64::from(octets);
        self.times.push(now);
        Outgoing { number, header, payload: octets as usize }
    }

    /// The RTP timestamp of a time.
    pub(super) fn timestamp(&self, at: Instant) -> u32 {
        let ticks = at.since(self.started).as_nanos() * u128::from(self.source.clock()) / 1_000_000_000;
        self.first.timestamp.wrapping_add(ticks as u32)
    }

    /// Receives a packet. Returns `None` if it does not belong to the stream.
    pub(super) fn receive(&mut self, octets: &[u8], now: Instant) -> Option<Arrival> {
        self.gone += 1;
        let RtpPacket { header, payload, .. } = RtpPacket::parse(octets)?;
        let number = self.number(&header)?;
        let sent_at = self.times.at(number);
        if self.reception.receive(number, now, sent_at) {
            self.received_octets += payload.len() as u64;
            if let (Some(buffer), Some(sent_at)) = (&mut self.buffer, sent_at) {
                buffer.take(now.since(sent_at).as_nanos() as u64);
            }
        }
        self.times.forget_before(self.reception.oldest_of_interest());
        Some(Arrival { number, payload })
    }

    /// The number of the packet with this header, from 0: the latest one sent with its sequence
    /// number.
    fn number(&self, header: &Rtp) -> Option<u64> {
        if (header.ssrc, header.payload_type) != (self.first.ssrc, self.first.payload_type) {
            return None;
        }
        let latest = self.sent.checked_sub(1)?;
        let before_latest = self.first.sequence.wrapping_add(latest as u16).wrapping_sub(header.sequence);
        latest.checked_sub(u64::from(before_latest))
    }

    /// Records that a copy was dropped, or taken over by an agent.
    pub(super) const fn record_gone(&mut self) {
        self.gone += 1;
    }

    /// Records that an agent sent a copy.
    pub(super) const fn record_added(&mut self) {
        self.added += 1;
    }

    /// Counts all packets in the network as lost.
    pub(super) const fn give_up(&mut self) {
        self.gone = self.sent + self.added;
    }

    /// The number of copies in the network.
    pub(super) const fn in_network(&self) -> u64 {
        (self.sent + self.added).saturating_sub(self.gone)
    }

    /// The numbers of packets and of octets of payload sent.
    pub(super) const fn sent(&self) -> (u64, u64) {
        (self.sent, self.sent_octets)
    }

    pub(super) const fn ssrc(&self) -> u32 {
        self.first.ssrc
    }

    pub(super) const fn reception(&self) -> &Reception {
        &self.reception
    }

    /// The first sequence number, to which the extended highest sequence number is relative.
    pub(super) const fn first_sequence(&self) -> u16 {
        self.first.sequence
    }

    /// The interarrival jitter, in ticks of the RTP clock.
    pub(super) fn jitter(&self) -> u32 {
        (self.reception.delay.jitter() * f64::from(self.source.clock()) / 1e9) as u32
    }

    /// The outcome since `earlier`.
    pub(super) fn outcome(&self, earlier: &StreamSoFar) -> StreamOutcome {
        let packets = self.reception.outcome(self.sent, self.in_network(), &earlier.packets);
        let late = self.late() - earlier.late;
        let quality = || {
            let (voice, buffer) = (self.source.voice()?, self.buffer.as_ref()?);
            let lost = packets.percent(packets.lost + late);
            let network_s = packets.delay.map(|delay| delay.min_s);
            let is_decided = packets.received + packets.lost > 0;
            is_decided.then(|| CallQuality::new(voice, network_s, buffer.length(), lost))
        };
        StreamOutcome {
            quality: quality(),
            octets: self.received_octets - earlier.octets,
            late,
            delays: self.reception.delay.durations().since(earlier.packets.delays()),
            packets,
        }
    }

    /// The statistics so far.
    pub(super) fn so_far(&self) -> StreamSoFar {
        StreamSoFar {
            packets: self.reception.so_far(self.sent, self.in_network()),
            octets: self.received_octets,
            late: self.late(),
        }
    }

    fn late(&self) -> u64 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.late)
    }
}
