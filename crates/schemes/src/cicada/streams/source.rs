//! One direction of a stream: an RTP source, from its first packet on.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_packet::rtp::Rtp;

use super::clock::Clock;
use super::transit::Transit;
use crate::cicada::quality::{Quality, Sample};

/// Packets of one source with consecutive sequence numbers that make a stream of it, after the
/// first: more than RFC 3550 asks of a receiver (appendix A.1), which knows that RTP comes.
const IN_A_ROW: u8 = 3;

/// Who talks sends at least this many packets in this time, or in up to twice that: five in a second.
const TALK_PACKETS: u32 = 25;
const TALK_TIME: Duration = Duration::from_secs(5);

/// A source that jumps further than this has started over (RFC 3550, appendix A.1, `MAX_DROPOUT`).
const LARGEST_GAP: u16 = 3000;

/// What comes in one direction between two ports.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// Who may turn out to be a source: SSRC, the sequence number that would be next, how many
    /// packets came in a row.
    candidate: Option<(u32, u16, u8)>,
    source: Option<Source>,
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
    transit: Option<Transit>,
    last_heard: Instant,
    /// Since when all packets were late.
    late_since: Option<Instant>,
    /// Until then none is.
    spared_until: Instant,
    talk: Talk,
    sample: Sample,
    sampled: Instant,
}

/// How much a source says: packets since then, and in the time before.
#[derive(Clone, Copy, Debug)]
struct Talk {
    since: Instant,
    packets: u32,
    before: u32,
}

impl Talk {
    fn on_packet(&mut self, now: Instant) {
        let passed = now.since(self.since);
        if passed >= TALK_TIME {
            let before = if passed < 2 * TALK_TIME { self.packets } else { 0 };
            *self = Self { since: now, packets: 0, before };
        }
        self.packets = self.packets.saturating_add(1);
    }

    const fn is_speech(&self) -> bool {
        self.packets.saturating_add(self.before) >= TALK_PACKETS
    }
}

/// What a packet of a source shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// It cannot arrive in time.
    pub(super) is_late: bool,
    /// A sampling interval is over, in which the quality was kept or was not.
    pub(super) kept: Option<bool>,
}

impl Direction {
    /// Whether there is a source that was heard lately.
    pub(super) fn has_source(&self, now: Instant, lately: Duration) -> bool {
        self.source.is_some_and(|source| now.since(source.last_heard) <= lately)
    }

    /// Whether there is one that sends as often as who talks or shows something does.
    pub(super) fn is_talking(&self) -> bool {
        self.source.is_some_and(|source| source.talk.is_speech())
    }

    /// A packet came; `None` if it is of no source so far. The legs of its path take `path` at
    /// their best, and the stream is sampled once an `interval`.
    pub(super) fn on_packet(
        &mut self,
        header: &Rtp,
        quality: &Quality,
        path: Duration,
        interval: Duration,
        now: Instant,
    ) -> Option<Heard> {
        if let Some(source) = self.source.as_mut().filter(|source| source.continues_with(header)) {
            return Some(source.on_packet(header, quality, path, interval, now));
        }
        let before =
            self.candidate.filter(|(ssrc, next, _)| (*ssrc, *next) == (header.ssrc, header.sequence));
        let in_a_row = before.map_or(0, |(_, _, in_a_row)| in_a_row + 1);
        if in_a_row < IN_A_ROW {
            self.candidate = Some((header.ssrc, header.sequence.wrapping_add(1), in_a_row));
            return None;
        }
        self.candidate = None;
        self.source = Some(Source::new(header, now));
        Some(Heard::default())
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
            transit: None,
            last_heard: now,
            late_since: None,
            spared_until: now,
            talk: Talk { since: now, packets: 0, before: 0 },
            sample: Sample::default(),
            sampled: now,
        }
    }

    fn continues_with(&self, header: &Rtp) -> bool {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        header.ssrc == self.ssrc && (ahead < LARGEST_GAP || ahead.wrapping_neg() < LARGEST_GAP)
    }

    fn on_packet(
        &mut self,
        header: &Rtp,
        quality: &Quality,
        path: Duration,
        interval: Duration,
        now: Instant,
    ) -> Heard {
        let ahead = header.sequence.wrapping_sub(self.sequence);
        let ticks = self.ticks_of(header.timestamp);
        // The packets of a video frame have one timestamp, and leave one after the other; and what is
        // sent again is late by itself.
        let is_first_of_its_time = ticks > self.ticks;
        self.sample.received = self.sample.received.saturating_add(1);
        if (1..LARGEST_GAP).contains(&ahead) {
            (self.sequence, self.ticks) = (header.sequence, ticks);
            self.sample.lost = self.sample.lost.saturating_add(u32::from(ahead - 1));
            self.clock.on_packet(ticks, now);
        } else {
            // It was counted as lost when a later one came; or it comes twice.
            self.sample.lost = self.sample.lost.saturating_sub(1);
        }
        let since_last = now.since(self.last_heard);
        self.last_heard = now;
        self.talk.on_packet(now);
        let is_late =
            is_first_of_its_time && self.is_late(header, ticks, since_last, quality, path, interval, now);
        let is_over = now.since(self.sampled) >= interval;
        let kept = is_over.then(|| quality.is_kept_by(&self.sample, path));
        if is_over {
            (self.sample, self.sampled) = (Sample::default(), now);
        }
        Heard { is_late, kept }
    }

    #[expect(clippy::too_many_arguments, reason = "all that speaks for a packet or against it")]
    fn is_late(
        &mut self,
        header: &Rtp,
        ticks: u64,
        since_last: Duration,
        quality: &Quality,
        path: Duration,
        interval: Duration,
        now: Instant,
    ) -> bool {
        let Some(rate) = self.clock.rate() else { return false };
        let transit = self.transit.get_or_insert_with(|| Transit::new(ticks, rate, now));
        let variation = transit.on_packet(ticks, rate, now);
        self.sample.variation = self.sample.variation.max(variation);
        if !quality.is_late(variation, path) || now < self.spared_until {
            self.late_since = None;
            return false;
        }
        let since = *self.late_since.get_or_insert(now);
        // A source may stop its clock in silence; and what has been late for a whole interval is
        // what the path is like now.
        let begins_talkspurt = header.marker && since_last > interval;
        if begins_talkspurt || now.since(since) >= interval {
            transit.start_over(now);
            (self.late_since, self.spared_until) = (None, now + interval);
            return false;
        }
        true
    }

    /// A timestamp, counted on beyond 32 bits: the nearest one to the last.
    const fn ticks_of(&self, timestamp: u32) -> u64 {
        let ahead = timestamp.wrapping_sub(self.ticks as u32).cast_signed();
        self.ticks.wrapping_add_signed(ahead as i64)
    }
}
