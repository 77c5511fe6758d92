//! LLE-TCP_CC: a mobile host's TCP hears of what its hop took over, and the agent sees to the rest
//! of the way.

mod saved;

use std::time::Duration;

use lasthop_agent::{Room, SegmentCache};
use lasthop_packet::{Instant, Packet, Seq, TcpFlags};

use super::confirming::DUPLICATES;
use super::ranges::Ranges;
pub(super) use saved::SavedControl;

/// The local time-out before a round trip was measured, and its least and its longest (RFC 6298,
/// with Linux's least).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Data of the host's own TCP that the receiver has not acknowledged.
#[derive(Debug)]
pub(super) struct Control {
    buffer: SegmentCache<Stored>,
    /// Octets that the buffer takes.
    room: usize,
    /// The TCP here takes everything before for arrived.
    told: Option<Seq>,
    above: Ranges,
    /// The TCP here was told of no room.
    is_frozen: bool,
    echo: Option<u32>,
    segment: u32,
    duplicates: u32,
    /// Losses below are repaired one after the other (RFC 6582).
    recover: Option<Seq>,
    smoothed: Option<(Duration, Duration)>,
    expiries: u32,
    waiting_since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    sent_at: Instant,
    /// Sent once only, so that its ACK tells a round-trip time (RFC 6298, section 3).
    is_timed: bool,
}

/// What to say to the TCP here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalAck {
    pub(super) ack: Seq,
    pub(super) echo: Option<u32>,
    /// In octets.
    pub(super) window: u32,
}

/// What an ACK from the other end leads to.
#[derive(Debug)]
pub(super) struct AckOutcome {
    pub(super) fate: Fate,
    /// To be sent again.
    pub(super) repair: Option<Packet>,
    /// Resumes a TCP that was told of no room.
    pub(super) resume: Option<LocalAck>,
}

/// What becomes of the ACK itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes on to the TCP here as it is.
    Pass,
    /// It goes on with this.
    Restate(Seq, u32),
    /// The TCP here knows it.
    Known,
}

impl Control {
    pub(super) const fn new(room: usize) -> Self {
        Self {
            buffer: SegmentCache::new(usize::MAX),
            room,
            told: None,
            above: Ranges::EMPTY,
            is_frozen: false,
            echo: None,
            segment: 0,
            duplicates: 0,
            recover: None,
            smoothed: None,
            expiries: 0,
            waiting_since: Instant::ZERO,
        }
    }

    /// The TCP here sends data. What does not fit is not told of before the receiver has it.
    pub(super) fn on_data(&mut self, packet: &Packet, memory: Room, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        let payload = packet.payload().len();
        // What opens and closes a connection is only ever acknowledged by its other end.
        if payload == 0 || tcp.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0) != 0 {
            return;
        }
        let segment = packet.segment_size().map_or(payload as u32, |size| u32::from(size.get()));
        self.segment = self.segment.max(segment);
        let (seq, end) = (tcp.seq, tcp.seq + payload as u32);
        if let Some(known) = self.buffer.find_mut(seq) {
            known.notes.is_timed = false;
            if !end.after(known.end) {
                return;
            }
        }
        let sizes = packet.sizes();
        let fits = self.buffer.octets() + sizes.octets <= self.room
            && memory.lacks(self.buffer.cost_of(sizes)).is_none();
        if fits && self.told.is_none_or(|told| end.after(told)) {
            if self.buffer.is_empty() {
                self.waiting_since = now;
            }
            self.buffer.insert(packet, sizes, Stored { sent_at: now, is_timed: true });
        }
    }

    /// Whether the buffer has room for what is in it.
    pub(super) fn fits(&self) -> bool {
        self.buffer.octets() <= self.room && self.room > 0
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Octets of memory that it takes.
    pub(super) fn allocated(&self) -> usize {
        self.buffer.allocated()
    }

    /// The hop took a segment over: what the TCP here hears of that.
    pub(super) fn on_delivered(&mut self, packet: &Packet) -> Option<LocalAck> {
        let tcp = packet.tcp()?;
        let (seq, end) = (tcp.seq, tcp.seq + packet.payload().len() as u32);
        let told = self.told.as_mut()?;
        if !end.after(*told) || !self.buffer.find_mut(seq).is_some_and(|stored| stored.end == end) {
            return None;
        }
        if seq.after(*told) {
            self.above.add(seq, end);
            return None;
        }
        *told = self.above.absorb(end);
        self.echo = tcp.options.timestamps.map(|timestamps| timestamps.value);
        self.local_ack()
    }

    fn local_ack(&mut self) -> Option<LocalAck> {
        let has_room = self.has_room();
        self.is_frozen = !has_room;
        let window = if has_room { self.segment } else { 0 };
        Some(LocalAck { ack: self.told?, echo: self.echo, window })
    }

    /// Whether one more segment fits, with its headers.
    fn has_room(&self) -> bool {
        self.buffer.octets() + self.segment as usize + 120 <= self.room
    }

    /// An ACK comes from the other end. `is_bare` where it is nothing but that.
    pub(super) fn on_heard(&mut self, packet: &Packet, is_bare: bool, now: Instant) -> AckOutcome {
        let mut heard = AckOutcome { fate: Fate::Pass, repair: None, resume: None };
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return heard };
        let ack = tcp.ack;
        let told = *self.told.get_or_insert(ack);
        let first = self.buffer.first().map(|stored| stored.seq);
        let advances = first.is_some_and(|first| ack.after(first));
        if advances {
            self.on_advance(ack, now);
            let is_partial = self.recover.is_some_and(|recover| ack.before(recover));
            heard.repair = if is_partial { self.first_again() } else { None };
            self.recover = self.recover.filter(|_| is_partial);
        } else if is_bare && first == Some(ack) && ack.before(told) {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES && self.recover.is_none() {
                self.recover = self.buffer.last().map(|last| last.end);
                self.waiting_since = now;
                heard.repair = self.first_again();
            }
        }
        if ack.after(told) {
            self.told = Some(self.above.absorb(ack));
            self.is_frozen = false;
            heard.fate = Fate::Restate(ack, self.one_segment(tcp.window));
        } else if ack.before(told) || (advances && ack == told) {
            heard.fate =
                if is_bare { Fate::Known } else { Fate::Restate(told, self.one_segment(tcp.window)) };
        }
        if self.is_frozen && self.has_room() {
            heard.resume = self.local_ack();
        }
        heard
    }

    /// One segment, or none where the receiver has no room at all.
    const fn one_segment(&self, window: u16) -> u32 {
        if window == 0 { 0 } else { self.segment }
    }

    fn on_advance(&mut self, ack: Seq, now: Instant) {
        let timed = self.buffer.remove_acknowledged(ack).last().filter(|last| last.notes.is_timed);
        if let Some(timed) = timed {
            //= RFC 6298, section 2
            let sample = now.since(timed.notes.sent_at);
            self.smoothed = Some(match self.smoothed {
                None => (sample, sample / 2),
                Some((mean, deviation)) => {
                    ((mean * 7 + sample) / 8, (deviation * 3 + mean.abs_diff(sample)) / 4)
                }
            });
        }
        (self.duplicates, self.expiries, self.waiting_since) = (0, 0, now);
    }

    fn first_again(&mut self) -> Option<Packet> {
        let first = self.buffer.first_mut()?;
        first.notes.is_timed = false;
        Some(first.packet.clone())
    }

    /// When the first segment is sent again: of those that the TCP here takes for arrived.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.buffer.first()?;
        if !self.told?.after(first.seq) {
            return None;
        }
        let timeout = self
            .smoothed
            .map_or(INITIAL_TIMEOUT, |(mean, deviation)| mean + deviation * 4)
            .max(LEAST_TIMEOUT);
        Some(self.waiting_since + (timeout * (1 << self.expiries.min(8))).min(LONGEST_TIMEOUT))
    }

    /// It is sent again now.
    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Packet> {
        self.expiries += 1;
        self.waiting_since = now;
        self.recover = self.buffer.last().map(|last| last.end);
        self.first_again()
    }

    /// Where that begins what the TCP here takes for arrived and the receiver has not acknowledged.
    pub(super) fn unproven_from(&self) -> Option<Seq> {
        let first = self.buffer.first()?.seq;
        self.told?.after(first).then_some(first)
    }

    /// Octets that the TCP here takes for arrived and the receiver has not acknowledged.
    pub(super) fn unproven(&self) -> u32 {
        self.told.zip(self.unproven_from()).map_or(0, |(told, first)| told - first)
    }
}
