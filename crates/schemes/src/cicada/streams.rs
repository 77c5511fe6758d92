//! Datagrams: the access point recognizes calls among them, compares them with their agreed
//! quality, and discards packets that would arrive too late.
//!
//! The paper has a virtual IP layer for each host and a pointer for each stream to it, and buffers
//! nothing: here an entry of the table, with up to four RTP sources for each direction.
//!
//! # Rules
//!
//! - *Datagrams other than RTP* always pass. If the first datagrams between two ports are not RTP
//!   or RTCP, later ones are not examined for a minute.
//! - *A stream* is packets of one source with consecutive sequence numbers (`source`). Its clock's
//!   rate is measured, not inferred from the payload type (`clock`): until then, none of its
//!   packets is late.
//! - *A call* has streams in both directions, at least one of which sends 25 packets in 5 to 10 s
//!   or more. Only packets of calls are discarded: a video player has a buffer of seconds.
//! - *Late* is a packet that takes longer than the agreed quality allows. The delay up to here is
//!   derived from its timestamp and the fastest packets of the stream (`transit`); the delay from
//!   here on from the queue on the hop, which the round trips of connections to the same mobile
//!   host show and which counts for `sampling-interval`; and that of both legs from their round
//!   trips, which RTCP reports (`legs`): their minimum, and for the next leg the last one. A packet
//!   that others have overtaken is judged like any other. The interarrival jitter of RFC 3550 is
//!   not used: it is a mean, and each packet counts. No stream is silenced: a delay that persists
//!   for a sampling interval is the current delay of the path, no packet of the next interval is
//!   late, and the first packet of a talkspurt always passes. Of the packets of a video frame only
//!   the first is judged.
//! - *Audio and video between the same ports*, as browsers send them (RFC 8843), are sources of one
//!   call; each is judged by its own clock. There may be four in each direction.
//! - *Elastic traffic* is held back during calls: see [`lasthop_hop::split::Splits::hold_back`].
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

/// RTP packets that would arrive too late.
pub static LATE: Counter = Counter::new("dropped_late", "RTP that would arrive too late");
/// Sampling intervals of the streams of calls.
pub static SAMPLES: Counter = Counter::new("rtp_samples", "Sampling intervals of the streams of calls.");
/// Sampling intervals that did not meet the agreed quality.
pub static MISSED: Counter = Counter::new(
    "rtp_samples_missed",
    "Sampling intervals in which a stream of a call did not meet the agreed quality.",
);

/// Consecutive datagrams outside of any stream after which an entry is no longer examined.
const MAX_OTHERS: u8 = 32;

/// The time without examined datagrams after which an entry is forgotten.
const IDLE: Duration = Duration::from_secs(60);

/// A call lasts for this time after its last packet in either direction: talkers pause.
const SILENCE: Duration = Duration::from_secs(10);

/// The state of datagram streams.
pub struct Streams {
    entries: FlowTable<Entry>,
    quality: Quality,
    /// The sampling interval: `T_RTP` in the paper.
    interval: Duration,
    /// When the last packet of a call arrived.
    last_call: Option<Instant>,
    /// Octets of memory of the sources.
    of_sources: usize,
}

/// The datagrams between two ports.
#[derive(Debug, Default)]
struct Entry {
    from_core: Direction,
    from_radio: Direction,
    legs: Legs,
    /// Consecutive datagrams outside of any stream.
    others: u8,
}

impl Streams {
    /// An empty state. Streams are sampled once per `interval`, and calls must have this quality.
    pub fn new(quality: Quality, interval: Duration) -> Self {
        Self { entries: FlowTable::new(Duration::ZERO), quality, interval, last_call: None, of_sources: 0 }
    }

    /// The sampling interval, for which the state of the hop counts, too.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Octets of allocated memory.
    pub fn octets(&self) -> usize {
        self.entries.octets() + self.of_sources
    }

    /// Whether there is a current call.
    pub fn has_calls(&self, now: Instant) -> bool {
        self.last_call.is_some_and(|last| now.since(last) <= SILENCE)
    }

    /// Processes a datagram. `key` is its direction from the core side to the radio side, `queue`
    /// the queueing delay on the hop ahead, and `others` the octets of memory that another owner
    /// has taken.
    pub fn on_datagram(
        &mut self,
        key: FlowKey,
        packet: &Packet,
        from: Side,
        queue: Duration,
        others: usize,
        cx: &mut Context<'_>,
    ) -> Verdict {
        // The content of a simulated payload is not known.
        let Payload::Bytes(octets) = packet.payload() else { return Verdict::Forward };
        if let Some(compound) = Compound::parse(octets) {
            self.on_control(key, compound, from, cx.now());
            return Verdict::Forward;
        }
        if self.entries.peek(key).is_some_and(|entry| entry.others == MAX_OTHERS) {
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
        let arrival = RtpPacket::parse(octets)
            .and_then(|packet| direction.on_packet(&packet.header, &terms, room, cx.now()));
        let is_call = back.has_source(cx.now(), SILENCE)
            && [&*direction, back].iter().any(|of| of.is_talking(cx.now(), SILENCE));
        self.of_sources = self.of_sources - before + entry.octets();
        let Some(arrival) = arrival else {
            entry.count_other(key, cx);
            return Verdict::Forward;
        };
        entry.others = 0;
        if !is_call {
            return Verdict::Forward;
        }
        self.last_call = Some(cx.now());
        if let Some(kept) = arrival.kept {
            cx.report(Report::new(&SAMPLES));
            if !kept {
                cx.report(Report::new(&MISSED));
            }
        }
        if arrival.is_late { Verdict::Drop(&LATE) } else { Verdict::Forward }
    }

    /// Whether a datagram towards the radio side arrives in time if it takes `detour` longer than usual. One that is of
    /// no stream whose clock is known does.
    pub fn is_in_time(&self, key: FlowKey, packet: &Packet, detour: Duration, cx: &Context<'_>) -> bool {
        let (Some(entry), Payload::Bytes(octets)) = (self.entries.peek(key), packet.payload()) else {
            return true;
        };
        let Some(packet) = RtpPacket::parse(octets) else { return true };
        let (path, ahead) = (entry.legs.one_way(), entry.legs.longer_to(Side::Radio, cx.now()));
        let terms = Terms { quality: self.quality, interval: self.interval, path, ahead, queue: detour };
        entry.from_core.is_in_time(&packet.header, &terms, cx.now())
    }

    /// Processes RTCP on the stream's own ports (RFC 5761), or on the next ones (RFC 3550, section
    /// 11).
    fn on_control(&mut self, key: FlowKey, compound: Compound<'_>, from: Side, now: Instant) {
        let previous_port = |(address, port): (_, u16)| Some((address, port.checked_sub(1)?));
        let rtp_key = previous_port(key.source).zip(previous_port(key.destination));
        let rtp_key = rtp_key.map(|(source, destination)| FlowKey { source, destination, ..key });
        let has_entry = |key: &FlowKey| self.entries.peek(*key).is_some();
        let Some(stream) = [Some(key), rtp_key].into_iter().flatten().find(has_entry) else { return };
        if let Some(entry) = self.entries.peek_mut(stream) {
            entry.legs.on_control(compound, from, now);
        }
    }

    /// Creates an entry for the first datagram between two ports; `false` if there is no room.
    fn begin(&mut self, key: FlowKey, others: usize, cx: &Context<'_>) -> bool {
        let budget = Budget { flows: Budget::datagram_share(cx.budget().flows), ..cx.budget() };
        let max_flows = self.entries.max_flows(budget, others + self.octets(), 0);
        if let Some(idlest) = self.entries.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.forget(idlest);
        }
        self.entries.insert(key, Entry::default(), max_flows, cx.now()).is_ok()
    }

    /// Forgets the streams of hosts that another agent serves from now on; that agent detects them
    /// itself.
    pub fn leave(&mut self, scope: Scope) {
        for key in scope.connections(&self.entries) {
            self.forget(key);
        }
    }

    /// Forgets the datagrams between two ports.
    pub fn forget(&mut self, key: FlowKey) {
        let entry = self.entries.remove(key);
        self.of_sources -= entry.as_ref().map_or(0, Entry::octets);
    }

    /// When the next entry expires.
    pub fn next_timer(&self) -> Option<Instant> {
        self.entries.idle_since().map(|since| since + IDLE)
    }

    /// Forgets expired entries.
    pub fn on_deadline(&mut self, now: Instant) {
        while let Some((last_used, key)) = self.entries.idlest()
            && last_used + IDLE <= now
        {
            self.forget(key);
        }
    }
}

impl Entry {
    /// Octets of memory of its sources.
    fn octets(&self) -> usize {
        self.from_core.octets() + self.from_radio.octets()
    }

    /// Counts a datagram outside of any stream. After `MAX_OTHERS` of them the world need not show
    /// more.
    fn count_other(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.others += 1;
        if self.others == MAX_OTHERS {
            cx.leave_alone(key);
        }
    }
}
