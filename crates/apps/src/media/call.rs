//! A call or a video: streams between two sides, one or one each way, and the reports on them.
//! Octets in and out: a world's packets carry them, or real sockets.

use lasthop_packet::Instant;

use super::participant::Participant;
use super::stream::{Arrival, Outgoing, Stream, StreamOutcome, StreamSoFar};
use crate::session::draws::Draws;
use crate::traffic::Media;
use crate::traffic::media::Source;

/// A call's port for RTP is even, the next one is RTCP's (RFC 3550, section 11); the first call's
/// are these, and each call has its own.
pub const START_PORT: u16 = 16_384;

/// A call at work. Its sides are 0 and 1.
#[derive(Debug)]
pub struct Call {
    /// By who sends.
    streams: [Option<Stream>; 2],
    participants: [Participant; 2],
}

/// What became of a call or a video.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// Its streams, each with who sends it: 0 the client, 1 the server.
    pub streams: Vec<(usize, StreamOutcome)>,
    /// RTCP packets sent.
    pub reports_sent: u64,
    /// RTCP packets that arrived.
    pub reports_received: u64,
}

/// What became of a call up to some time.
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
    /// A call whose streams start at `start`: what each side sends, and by which name it reports.
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

    /// When a side's next packet is due; `None` if it sends none.
    pub fn next(&self, side: usize) -> Option<Instant> {
        self.streams[side].as_ref().map(Stream::next)
    }

    /// The packet that is due from a side.
    pub fn send(&mut self, side: usize, now: Instant) -> Option<Outgoing> {
        self.streams[side].as_mut().map(|stream| stream.send(now))
    }

    /// An RTP packet of a side's stream arrives at the other; `None` if it is none that was sent.
    pub fn receive(&mut self, from: usize, octets: &[u8], now: Instant) -> Option<Arrival> {
        self.streams[from].as_mut()?.receive(octets, now)
    }

    /// The octets of a side's report, a compound RTCP packet.
    pub fn report(&mut self, side: usize, now: Instant) -> Vec<u8> {
        let Self { streams, participants } = self;
        participants[side].report(now, streams[side].as_ref(), streams[1 - side].as_ref())
    }

    /// When a side reports next.
    pub fn next_report(&mut self, side: usize, now: Instant) -> Instant {
        now + self.participants[side].interval()
    }

    /// A side's report arrives at the other; `false` if it is none.
    pub fn receive_report(&mut self, from: usize, octets: &[u8], now: Instant) -> bool {
        self.participants[1 - from].receive_report(octets, now)
    }

    /// A copy of a packet of a side's stream was dropped, or taken over by an agent.
    pub fn note_gone(&mut self, side: usize) {
        self.streams[side].iter_mut().for_each(Stream::note_gone);
    }

    /// An agent sent a copy of a packet of a side's stream.
    pub fn note_added(&mut self, side: usize) {
        self.streams[side].iter_mut().for_each(Stream::note_added);
    }

    /// What has not arrived will not: it is lost.
    pub fn give_up(&mut self) {
        self.streams.iter_mut().flatten().for_each(Stream::give_up);
    }

    /// Whether nothing is on its way, as far as is known of what was lost.
    pub fn has_nothing_under_way(&self) -> bool {
        self.streams.iter().flatten().all(|stream| stream.in_network() == 0)
    }

    /// What became of it so far.
    pub fn outcome(&self) -> CallOutcome {
        self.outcome_since(&CallSoFar::default())
    }

    /// What became of it since `earlier`.
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

    /// What became of it so far, to be the `earlier` of [`Self::outcome_since`].
    pub fn so_far(&self) -> CallSoFar {
        let streams = self.streams.each_ref();
        let streams = streams.map(|stream| stream.as_ref().map(Stream::so_far).unwrap_or_default());
        CallSoFar { streams, reports: self.reports() }
    }

    /// RTCP packets of both sides.
    fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        for participant in &self.participants {
            reports.sent += participant.reports_sent;
            reports.received += participant.reports_received;
        }
        reports
    }
}
