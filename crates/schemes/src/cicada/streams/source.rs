//! One direction of a stream: an RTP source, from its first packet on.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_packet::rtp::Rtp;

use super::clock::Clock;
use super::lateness::{Lateness, Sampled};
use super::talk::Talk;
use crate::cicada::quality::{Sample, Terms};

/// Packets of one source with consecutive sequence numbers that make a stream of it, after the
/// first: more than RFC 3550 asks of a receiver (appendix A.1), which knows that RTP comes.
const IN_A_ROW: u8 = 3;

/// A source that jumps further than this has started over (RFC 3550, appendix A.1, `MAX_DROPOUT`).
const LARGEST_GAP: u16 = 3000;

/// Sources of one direction between two ports: audio, video, and what is sent again of both (RFC 8843,
/// RFC 4588).
const MOST_SOURCES: usize = 4;

/// A source that is silent for this long makes room for another.
const MAKES_ROOM: Duration = Duration::from_secs(10);

/// What comes in one direction between two ports.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// Who may turn out to be a source; the latest comer last.
    candidates: [Option<Candidate>; MOST_SOURCES],
    /// At most as many.
    sources: Vec<Source>,
}

/// Who may turn out to be a source.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ssrc: u32,
    /// The sequence number that would be next.
    next: u16,
    /// Packets in a row, after the first.
    in_a_row: u8,
}

/// A source.
#[derive(Clone, Copy, Debug)]
struct Source {
    ssrc: u32,
    /// The highest sequence number, and its timestamp counted on beyond 32 bits.
    sequence: u16,
    ticks: u64,
    clock: Clock,
    /// Once the clock's rate is known.
    lateness: Option<Lateness>,
    last_heard: Instant,
    /// When a packet came that continued the sequence.
    continued: Instant,
    talk: Talk,
    sample: Sample,
    sampled: Instant,
    /// Several packets have had one timestamp, as those of a video frame have.
    is_framed: bool,
}

/// What a packet of a source shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// It cannot arrive in time.
    pub(super) is_late: bool,
    /// A sampling interval is over, in which the quality was kept or was not.
    pub(super) kept: Option<bool>,
}

impl Direction {
    /// Whether there is a source that was heard lately.
    pub(super) fn has_source(&self, now: Instant, lately: Duration) -> bool {
        self.sources.iter().any(|source| now.since(source.last_heard) <= lately)
    }

    /// Whether there is one that was, and that sends as often as who talks or shows something does.
    pub(super) fn is_talking(&self, now: Instant, lately: Duration) -> bool {
        let is_heard = |source: &&Source| now.since(source.last_heard) <= lately;
        self.sources.iter().filter(is_heard).any(|source| source.talk.is_speech())
    }

    /// Octets of memory that its sources take.
    pub(super) const fn octets(&self) -> usize {
        self.sources.capacity() * size_of::<Source>()
    }

    /// A packet came, which is held against these terms; `None` if it is of no source so far. A new source
    /// is known if there is memory for it among the `room` octets that may be taken.
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
        if self.sources.len() == MOST_SOURCES {
            // One that goes on is known, and a newcomer passes without being judged.
            let is_silent = |source: &Source| now.since(source.last_heard) > MAKES_ROOM;
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

    /// Whether so many packets have come in a row by now that they are of a source.
    fn is_source(&mut self, header: &Rtp) -> bool {
        let is_it = |candidate: &Option<Candidate>| candidate.is_some_and(|of| of.ssrc == header.ssrc);
        let place = self.candidates.iter().position(is_it).unwrap_or(0);
        let before = self.candidates[place].filter(|of| (of.ssrc, of.next) == (header.ssrc, header.sequence));
        let in_a_row = before.map_or(0, |of| of.in_a_row + 1);
        let is_source = in_a_row >= IN_A_ROW;
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
            last_heard: now,
            continued: now,
            talk: Talk::new(now),
            sample: Sample::default(),
            sampled: now,
            is_framed: false,
        }
    }

    fn continues_with(&self, header: &Rtp) -> bool {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        header.ssrc == self.ssrc && (ahead < LARGEST_GAP || ahead.wrapping_neg() < LARGEST_GAP)
    }

    fn on_packet(&mut self, header: &Rtp, terms: &Terms, now: Instant) -> Arrival {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        let ticks = self.ticks_of(header.timestamp);
        // The packets of a video frame have one timestamp, and leave one after the other: when one left that
        // others have overtaken is not known.
        self.is_framed |= ahead == 1 && ticks == self.ticks;
        let is_first_of_its_time = ticks > self.ticks;
        // A source that goes on with earlier numbers has started over.
        let is_behind = ahead.wrapping_neg() < LARGEST_GAP && now.since(self.continued) < terms.interval;
        let is_overtaken = is_behind && ticks < self.ticks && !self.is_framed;
        self.sample.received = self.sample.received.saturating_add(1);
        if (1..LARGEST_GAP).contains(&ahead) {
            (self.sequence, self.ticks, self.continued) = (header.sequence, ticks, now);
            self.sample.lost = self.sample.lost.saturating_add(u32::from(ahead - 1));
            self.clock.on_packet(ticks, now);
        } else {
            // It was counted as lost when a later one came; or it comes twice.
            self.sample.lost = self.sample.lost.saturating_sub(1);
        }
        let since_last = now.since(self.last_heard);
        self.last_heard = now;
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

    /// A timestamp, counted on beyond 32 bits: the nearest one to the last.
    const fn ticks_of(&self, timestamp: u32) -> u64 {
        let ahead = timestamp.wrapping_sub(self.ticks as u32).cast_signed();
        self.ticks.wrapping_add_signed(ahead as i64)
    }
}
