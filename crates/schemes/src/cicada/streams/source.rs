//! The RTP sources of one direction.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_packet::rtp::Rtp;

use super::clock::Clock;
use super::lateness::{Lateness, Sampled};
use super::talk::Talk;
use crate::cicada::quality::{Sample, Terms};

/// Packets of one source with consecutive sequence numbers, after the first, that make it a stream:
/// more than RFC 3550 requires of a receiver (appendix A.1), which expects RTP.
const MIN_IN_A_ROW: u8 = 3;

/// A larger jump means that the source has restarted (RFC 3550, appendix A.1, `MAX_DROPOUT`).
const MAX_GAP: u16 = 3000;

/// The maximum number of sources in one direction between two ports: audio, video, and
/// retransmissions of both (RFC 8843, RFC 4588).
const MAX_SOURCES: usize = 4;

/// A source that is silent for this long may be replaced.
const REPLACEABLE_AFTER: Duration = Duration::from_secs(10);

/// The packets in one direction between two ports.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// Possible sources; the latest one last.
    candidates: [Option<Candidate>; MAX_SOURCES],
    /// The sources, at most [`MAX_SOURCES`].
    sources: Vec<Source>,
}

/// A possible source.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ssrc: u32,
    /// The expected sequence number.
    next: u16,
    /// Consecutive packets, after the first.
    in_a_row: u8,
}

/// A source.
#[derive(Clone, Copy, Debug)]
struct Source {
    ssrc: u32,
    /// The highest sequence number, and its timestamp extended beyond 32 bits.
    sequence: u16,
    ticks: u64,
    clock: Clock,
    /// Known once the clock's rate is.
    lateness: Option<Lateness>,
    last_packet: Instant,
    /// When a packet last continued the sequence.
    continued: Instant,
    talk: Talk,
    sample: Sample,
    sampled: Instant,
    /// Whether several packets have had the same timestamp, like those of a video frame.
    is_framed: bool,
}

/// The result of a packet of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Whether it cannot arrive in time.
    pub(super) is_late: bool,
    /// At the end of a sampling interval: whether the quality was met.
    pub(super) kept: Option<bool>,
}

impl Direction {
    /// Whether there is a recently active source.
    pub(super) fn has_source(&self, now: Instant, within: Duration) -> bool {
        self.sources.iter().any(|source| now.since(source.last_packet) <= within)
    }

    /// Whether there is one that sends as often as a talker does.
    pub(super) fn is_talking(&self, now: Instant, within: Duration) -> bool {
        let is_recent = |source: &&Source| now.since(source.last_packet) <= within;
        self.sources.iter().filter(is_recent).any(|source| source.talk.is_speech())
    }

    /// Octets of memory of its sources.
    pub(super) const fn octets(&self) -> usize {
        self.sources.capacity() * size_of::<Source>()
    }

    /// Whether a packet that has been processed before arrives in time by these terms.
    pub(super) fn is_in_time(&self, header: &Rtp, terms: &Terms, now: Instant) -> bool {
        let source = self.sources.iter().find(|source| source.continues_with(header));
        let known = source.and_then(|source| Some((source, source.lateness?, source.clock.rate()?)));
        known.is_none_or(|(source, lateness, rate)| {
            let variation = lateness.of_another(source.ticks_of(header.timestamp), rate, now + terms.queue);
            !terms.is_late(variation)
        })
    }

    /// Processes a packet by these terms; `None` if it belongs to no source yet. A new source is
    /// added if the `room` octets of memory suffice.
    pub(super) fn on_packet(
        &mut self,
        header: &Rtp,
        terms: &Terms,
        room: usize,
        now: Instant,
    ) -> Option<Arrival> {
        if let Some(source) = self.sources.iter_mut().find(|source| source.continues_with(header)) {
            return Some(source.on_packet(header, terms, now));
        }
        if !self.is_source(header) {
            return None;
        }
        self.sources.retain(|source| source.ssrc != header.ssrc);
        if self.sources.len() == MAX_SOURCES {
            // An active one stays, and the packets of the new one pass unjudged.
            let is_silent = |source: &Source| now.since(source.last_packet) > REPLACEABLE_AFTER;
            let Some(silent) = self.sources.iter().position(is_silent) else {
                return Some(Arrival::default());
            };
            self.sources.remove(silent);
        }
        if self.sources.len() == self.sources.capacity() {
            if size_of::<Source>() > room {
                return Some(Arrival::default());
            }
            self.sources.reserve_exact(1);
        }
        self.sources.push(Source::new(header, now));
        Some(Arrival::default())
    }

    /// Whether enough consecutive packets have arrived to make this a source.
    fn is_source(&mut self, header: &Rtp) -> bool {
        let is_it = |candidate: &Option<Candidate>| candidate.is_some_and(|of| of.ssrc == header.ssrc);
        let place = self.candidates.iter().position(is_it).unwrap_or(0);
        let before = self.candidates[place].filter(|of| (of.ssrc, of.next) == (header.ssrc, header.sequence));
        let in_a_row = before.map_or(0, |of| of.in_a_row + 1);
        let is_source = in_a_row >= MIN_IN_A_ROW;
        let next = header.sequence.wrapping_add(1);
        self.candidates[place] = (!is_source).then_some(Candidate { ssrc: header.ssrc, next, in_a_row });
        self.candidates[place..].rotate_left(1);
        is_source
    }
}

impl Source {
    fn new(header: &Rtp, now: Instant) -> Self {
        Self {
            ssrc: header.ssrc,
            sequence: header.sequence,
            // Far from zero: the first packets may overtake each other.
            ticks: 1 << 32 | u64::from(header.timestamp),
            clock: Clock::default(),
            lateness: None,
            last_packet: now,
            continued: now,
            talk: Talk::new(now),
            sample: Sample::default(),
            sampled: now,
            is_framed: false,
        }
    }

    fn continues_with(&self, header: &Rtp) -> bool {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        header.ssrc == self.ssrc && (ahead < MAX_GAP || ahead.wrapping_neg() < MAX_GAP)
    }

    fn on_packet(&mut self, header: &Rtp, terms: &Terms, now: Instant) -> Arrival {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        let ticks = self.ticks_of(header.timestamp);
        // The packets of a video frame have one timestamp, and are sent one after the other: the
        // departure time of an overtaken one is unknown.
        self.is_framed |= ahead == 1 && ticks == self.ticks;
        let is_first_of_its_time = ticks > self.ticks;
        // A source that continues with earlier numbers has restarted.
        let is_behind = ahead.wrapping_neg() < MAX_GAP && now.since(self.continued) < terms.interval;
        let is_overtaken = is_behind && ticks < self.ticks && !self.is_framed;
        self.sample.received = self.sample.received.saturating_add(1);
        if (1..MAX_GAP).contains(&ahead) {
            (self.sequence, self.ticks, self.continued) = (header.sequence, ticks, now);
            self.sample.lost = self.sample.lost.saturating_add(u32::from(ahead - 1));
            self.clock.on_packet(ticks, now);
        } else {
            // It was counted as lost when a later one arrived, or it is a duplicate.
            self.sample.lost = self.sample.lost.saturating_sub(1);
        }
        let since_last = now.since(self.last_packet);
        self.last_packet = now;
        self.talk.on_packet(now);
        let begins_talkspurt = header.marker && since_last > terms.interval;
        let rate = self.clock.rate().filter(|_| is_first_of_its_time || is_overtaken);
        let sampled = |rate| Sampled { ticks, rate, is_overtaken, begins_talkspurt };
        let is_late = rate.is_some_and(|rate| self.is_late(&sampled(rate), terms, now));
        let is_over = now.since(self.sampled) >= terms.interval;
        let kept = is_over.then(|| terms.are_kept_by(&self.sample));
        if is_over {
            (self.sample, self.sampled) = (Sample::default(), now);
        }
        Arrival { is_late, kept }
    }

    fn is_late(&mut self, packet: &Sampled, terms: &Terms, now: Instant) -> bool {
        let lateness = self.lateness.get_or_insert_with(|| Lateness::new(packet, terms, now));
        let (is_late, variation) = lateness.on_packet(packet, terms, now);
        self.sample.variation = self.sample.variation.max(variation);
        is_late
    }

    /// A timestamp extended beyond 32 bits: the nearest one to the last.
    const fn ticks_of(&self, timestamp: u32) -> u64 {
        let ahead = timestamp.wrapping_sub(self.ticks as u32).cast_signed();
        self.ticks.wrapping_add_signed(ahead as i64)
    }
}
