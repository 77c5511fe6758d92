//! Datagrams: the access point recognizes calls among them, holds them against their agreed
//! quality, and gives up packets that would come too late.
//!
//! The paper has a virtual IP layer for each host and a pointer for each stream that goes there,
//! and buffers nothing: an entry of the table here, which has an RTP source at most for each
//! direction.
//!
//! # What is done to whom
//!
//! - *What is not RTP* is never touched. Datagrams between two ports that do not turn out to be RTP
//!   or RTCP after a few are not even looked at for a minute.
//! - *A stream* is packets of one source with consecutive sequence numbers (`source`). Its clock's
//!   rate is measured, not guessed from the payload type (`clock`): before, nothing of it is late.
//! - *A call* has streams in both directions, of which one sends 25 packets in 5 to 10 s or more. Only of
//!   calls is anything given up: who watches a video has a buffer of seconds.
//! - *Late* is a packet that takes longer than the agreed quality allows: to here by its timestamp and
//!   the quickest packets of the stream (`transit`); from here by the queue on the hop, which the round
//!   trips of connections to the same mobile host show and which counts for `sampling-interval`; and on
//!   both legs by their round trips, which RTCP tells (`legs`): at their best, and of the leg ahead the
//!   last one. A packet that others have overtaken is judged like any other. The interarrival jitter of RFC 3550 is not used: it is a mean, and what counts is
//!   each packet. No stream is silenced: what has been late for a sampling interval is what the
//!   path is like now, nothing of the next interval is late, and the first packet of a talkspurt
//!   always passes. Of the packets of a video frame only the first is judged.
//! - *Audio and video between the same ports*, as browsers send them (RFC 8843), are sources of one
//!   call; each is judged by its own clock. There may be four in each direction.
//! - *Elastic traffic* is held back while there are calls: see
//!   [`lasthop_hop::split::Splits::hold_back`].

mod clock;
mod lateness;
mod legs;
mod source;
mod talk;
#[cfg(test)]
mod tests;
mod transit;

use std::time::Duration;

use lasthop_agent::{Budget, Context, Counter, FlowTable, Report, Scope, Side, Verdict};
use lasthop_packet::rtp::{Compound, RtpPacket};
use lasthop_packet::{FlowKey, Instant, Packet, Payload};

use super::quality::{Quality, Terms};
use legs::Legs;
use source::Direction;

/// RTP that would arrive too late.
pub static LATE: Counter = Counter::new("dropped_late", "RTP that would arrive too late");
/// Sampling intervals of the streams of calls.
pub static SAMPLES: Counter = Counter::new("rtp_samples", "Sampling intervals of the streams of calls.");
/// Sampling intervals that did not meet the agreed quality.
pub static MISSED: Counter = Counter::new(
    "rtp_samples_missed",
    "Sampling intervals in which a stream of a call did not meet the agreed quality.",
);

/// Datagrams between two ports after which they are not looked at any more, if none was of a
/// stream.
const ENOUGH: u8 = 32;

/// An entry without datagrams that are looked at is forgotten after this time.
const IDLE: Duration = Duration::from_secs(60);

/// A call goes on for this long after its last packet in either direction: talkers pause.
const SILENCE: Duration = Duration::from_secs(10);

/// What is known of datagrams.
pub struct Streams {
    entries: FlowTable<Entry>,
    quality: Quality,
    /// How often streams are sampled: `T_RTP` in the paper.
    interval: Duration,
    /// When the last packet of a call came.
    last_call: Option<Instant>,
    /// Octets of memory for sources.
    of_sources: usize,
}

/// The datagrams between two ports.
#[derive(Debug, Default)]
struct Entry {
    from_core: Direction,
    from_radio: Direction,
    legs: Legs,
    /// Datagrams that were of no stream.
    others: u8,
}

impl Streams {
    /// Nothing is known. Streams are sampled once an `interval`, and calls are to have this quality.
    pub fn new(quality: Quality, interval: Duration) -> Self {
        Self { entries: FlowTable::new(Duration::ZERO), quality, interval, last_call: None, of_sources: 0 }
    }

    /// How often streams are sampled, and for how long what is known of the hop counts.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Octets of memory that it has taken.
    pub fn octets(&self) -> usize {
        self.entries.octets() + self.of_sources
    }

    /// Whether there is a call.
    pub fn has_calls(&self, now: Instant) -> bool {
        self.last_call.is_some_and(|last| now.since(last) <= SILENCE)
    }

    /// Decides the fate of a datagram. `key` is its direction from the core side to the radio side; `queue` is
    /// how long a packet waits on the hop ahead, and something else has taken `others` octets of the memory.
    pub fn on_datagram(
        &mut self,
        key: FlowKey,
        packet: &Packet,
        from: Side,
        queue: Duration,
        others: usize,
        cx: &mut Context<'_>,
    ) -> Verdict {
        // A payload that a simulation does not write out is none that says anything.
        let Payload::Bytes(octets) = packet.payload() else { return Verdict::Forward };
        if let Some(compound) = Compound::parse(octets) {
            self.on_control(key, compound, from, cx.now());
            return Verdict::Forward;
        }
        if self.entries.peek(key).is_some_and(|entry| entry.others == ENOUGH) {
            return Verdict::Forward;
        }
        if self.entries.touch(key, cx.now()).is_none() && !self.begin(key, others, cx) {
            return Verdict::Forward;
        }
        let room = cx.budget().room(0, others + self.octets()).in_all;
        let Some(entry) = self.entries.peek_mut(key) else { return Verdict::Forward };
        let before = entry.octets();
        let (path, ahead) = (entry.legs.one_way(), entry.legs.longer_to(from.opposite(), cx.now()));
        let terms = Terms { quality: self.quality, interval: self.interval, path, ahead, queue };
        let (direction, back) = match from {
            Side::Core => (&mut entry.from_core, &entry.from_radio),
            Side::Radio => (&mut entry.from_radio, &entry.from_core),
        };
        let heard = RtpPacket::parse(octets)
            .and_then(|packet| direction.on_packet(&packet.header, &terms, room, cx.now()));
        let is_call = back.has_source(cx.now(), SILENCE)
            && [&*direction, back].iter().any(|of| of.is_talking(cx.now(), SILENCE));
        self.of_sources = self.of_sources - before + entry.octets();
        let Some(heard) = heard else {
            entry.count_other(key, cx);
            return Verdict::Forward;
        };
        entry.others = 0;
        if !is_call {
            return Verdict::Forward;
        }
        self.last_call = Some(cx.now());
        if let Some(kept) = heard.kept {
            cx.report(Report::of(&SAMPLES));
            if !kept {
                cx.report(Report::of(&MISSED));
            }
        }
        if heard.is_late { Verdict::Drop(&LATE) } else { Verdict::Forward }
    }

    /// RTCP came: on the stream's own ports (RFC 5761), or on the next ones (RFC 3550, section 11).
    fn on_control(&mut self, key: FlowKey, compound: Compound<'_>, from: Side, now: Instant) {
        let before = |(address, port): (_, u16)| Some((address, port.checked_sub(1)?));
        let beside = before(key.source).zip(before(key.destination));
        let beside = beside.map(|(source, destination)| FlowKey { source, destination, ..key });
        let has_entry = |key: &FlowKey| self.entries.peek(*key).is_some();
        let Some(stream) = [Some(key), beside].into_iter().flatten().find(has_entry) else { return };
        if let Some(entry) = self.entries.peek_mut(stream) {
            entry.legs.on_control(compound, from, now);
        }
    }

    /// The first datagram between two ports; `false` if there is no room.
    fn begin(&mut self, key: FlowKey, others: usize, cx: &Context<'_>) -> bool {
        let budget = Budget { flows: Budget::of_datagrams(cx.budget().flows), ..cx.budget() };
        let most = self.entries.most(budget, others + self.octets(), 0);
        if let Some(idlest) = self.entries.next_to_go(most, cx.now(), |_| true) {
            self.forget(idlest);
        }
        self.entries.insert(key, Entry::default(), most, cx.now()).is_ok()
    }

    /// Forgets the streams of hosts that another agent serves from now on; that agent finds them by itself.
    pub fn leave(&mut self, scope: Scope) {
        for key in scope.of(&self.entries) {
            self.forget(key);
        }
    }

    /// Forgets the datagrams between two ports.
    pub fn forget(&mut self, key: FlowKey) {
        let entry = self.entries.remove(key);
        self.of_sources -= entry.as_ref().map_or(0, Entry::octets);
    }

    /// When something is next to be forgotten.
    pub fn next_timer(&self) -> Option<Instant> {
        self.entries.idle_since().map(|since| since + IDLE)
    }

    /// Forgets what has been idle for too long.
    pub fn on_deadline(&mut self, now: Instant) {
        while let Some((last_used, key)) = self.entries.idlest()
            && last_used + IDLE <= now
        {
            self.forget(key);
        }
    }
}

impl Entry {
    /// Octets of memory that its sources take.
    fn octets(&self) -> usize {
        self.from_core.octets() + self.from_radio.octets()
    }

    /// One more that is of no stream. The world need not show more of them after some.
    fn count_other(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.others += 1;
        if self.others == ENOUGH {
            cx.leave_alone(key);
        }
    }
}
