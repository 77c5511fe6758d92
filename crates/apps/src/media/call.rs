//! A call or a video: streams between two sides, in one or both directions, and their RTCP reports.
//! Packets are passed in and out as octets, so that a simulated network or real sockets can carry
//! them.

use lasthop_packet::Instant;

use super::participant::Participant;
use super::stream::{Arrival, Outgoing, Stream, StreamOutcome, StreamSoFar};
use crate::session::draws::Draws;
use crate::traffic::Media;
use crate::traffic::media::Source;

/// The RTP port of the first call. A call's RTP port is even, and RTCP uses the next one (RFC 3550,
/// section 11); each call has its own pair.
pub const START_PORT: u16 = 16_384;

/// A running call. Its sides are 0 and 1.
#[derive(Debug)]
pub struct Call {
    /// The streams, by the side that sends.
    streams: [Option<Stream>; 2],
    participants: [Participant; 2],
}

/// The outcome of a call or a video.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// Its streams, each with the side that sends it: 0 for the client, 1 for the server.
    pub streams: Vec<(usize, StreamOutcome)>,
    /// RTCP packets sent.
    pub reports_sent: u64,
    /// RTCP packets that arrived.
    pub reports_received: u64,
}

/// The outcome of a call up to some time.
#[derive(Clone, Debug, Default)]
pub struct CallSoFar {
    streams: [StreamSoFar; 2],
    reports: Reports,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reports {
    sent: u64,
    received: u64,
}

impl Call {
    /// Creates a call whose streams start at `start`: what each side sends (`media`), and the name
    /// (CNAME) in its reports.
    pub fn new(media: [Option<Media>; 2], names: [String; 2], start: Instant, draws: &Draws<'_>) -> Self {
        let mut numbers = draws.numbers();
        let [first, second] = media;
        let mut one_way = |side: usize, media: Option<Media>| {
            media.map(|media| Stream::new(Source::new(&media, start, draws.media(side)), start, &mut numbers))
        };
        let streams = [one_way(0, first), one_way(1, second)];
        let mut participant = |side: usize, name: String| {
            let ssrc = streams[side].as_ref().map_or_else(|| numbers.next_u64() as u32, Stream::ssrc);
            Participant::new(ssrc, name, draws.reports(side))
        };
        let [of_first, of_second] = names;
        let participants = [participant(0, of_first), participant(1, of_second)];
        Self { streams, participants }
    }

    /// The time of a side's next packet; `None` if it sends none.
    pub fn next(&self, side: usize) -> Option<Instant> {
        self.streams[side].as_ref().map(Stream::next)
    }

    /// Returns the packet that is due from a side.
    pub fn send(&mut self, side: usize, now: Instant) -> Option<Outgoing> {
        self.streams[side].as_mut().map(|stream| stream.send(now))
    }

    /// Receives an RTP packet of a side's stream at the other side. Returns `None` if it does not
    /// belong to the stream.
    pub fn receive(&mut self, from: usize, octets: &[u8], now: Instant) -> Option<Arrival> {
        self.streams[from].as_mut()?.receive(octets, now)
    }

    /// Returns the octets of a side's report, a compound RTCP packet.
    pub fn report(&mut self, side: usize, now: Instant) -> Vec<u8> {
        let Self { streams, participants } = self;
        participants[side].report(now, streams[side].as_ref(), streams[1 - side].as_ref())
    }

    /// Draws the time of a side's next report.
    pub fn next_report(&mut self, side: usize, now: Instant) -> Instant {
        now + self.participants[side].interval()
    }

    /// Receives a side's report at the other side. Returns `false` if it is not an RTCP packet.
    pub fn receive_report(&mut self, from: usize, octets: &[u8], now: Instant) -> bool {
        self.participants[1 - from].receive_report(octets, now)
    }

    /// Records that a copy of a packet of a side's stream was dropped, or taken over by an agent.
    pub fn record_gone(&mut self, side: usize) {
        self.streams[side].iter_mut().for_each(Stream::record_gone);
    }

    /// Records that an agent sent a copy of a packet of a side's stream.
    pub fn record_added(&mut self, side: usize) {
        self.streams[side].iter_mut().for_each(Stream::record_added);
    }

    /// Counts all packets in the network as lost.
    pub fn give_up(&mut self) {
        self.streams.iter_mut().flatten().for_each(Stream::give_up);
    }

    /// Whether no packet is in the network, as far as losses have been recorded.
    pub fn has_nothing_under_way(&self) -> bool {
        self.streams.iter().flatten().all(|stream| stream.in_network() == 0)
    }

    /// The outcome so far.
    pub fn outcome(&self) -> CallOutcome {
        self.outcome_since(&CallSoFar::default())
    }

    /// The outcome since `earlier`.
    pub fn outcome_since(&self, earlier: &CallSoFar) -> CallOutcome {
        let streams = self.streams.iter().zip(&earlier.streams).enumerate();
        let of_stream = |(side, (stream, earlier)): (usize, (&Option<Stream>, &StreamSoFar))| {
            Some((side, stream.as_ref()?.outcome(earlier)))
        };
        let reports = self.reports();
        CallOutcome {
            streams: streams.filter_map(of_stream).collect(),
            reports_sent: reports.sent - earlier.reports.sent,
            reports_received: reports.received - earlier.reports.received,
        }
    }

    /// The statistics so far, for `earlier` of [`Self::outcome_since`].
    pub fn so_far(&self) -> CallSoFar {
        let streams = self.streams.each_ref();
        let streams = streams.map(|stream| stream.as_ref().map(Stream::so_far).unwrap_or_default());
        CallSoFar { streams, reports: self.reports() }
    }

    /// The numbers of RTCP packets of both sides.
    fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        for participant in &self.participants {
            reports.sent += participant.reports_sent;
            reports.received += participant.reports_received;
        }
        reports
    }
}
