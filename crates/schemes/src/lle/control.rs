//! LLE-TCP_CC: a mobile host's TCP gets ACKs of data that its hop delivered, and the agent is
//! responsible for the rest of the path.

mod saved;

use std::time::Duration;

use lasthop_agent::{Room, SegmentCache};
use lasthop_packet::{Instant, Packet, Seq, TcpFlags};

use super::confirming::DUPLICATES;
use super::ranges::Ranges;
pub(super) use saved::SavedControl;

/// The local time-out before the first round-trip measurement, its minimum and its maximum (RFC
/// 6298, with Linux's minimum).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
const MIN_TIMEOUT: Duration = Duration::from_millis(200);
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// Data of the local TCP that the receiver has not acknowledged.
#[derive(Debug)]
pub(super) struct Control {
    buffer: SegmentCache<Stored>,
    /// The maximum octets of the buffer.
    room: usize,
    /// The local TCP considers all data below delivered.
    acknowledged: Option<Seq>,
    above: Ranges,
    /// Whether the local TCP was sent a zero window.
    is_frozen: bool,
    echo: Option<u32>,
    segment: u32,
    duplicates: u32,
    /// Losses below this number are repaired one after the other (RFC 6582).
    recover: Option<Seq>,
    smoothed: Option<(Duration, Duration)>,
    expiries: u32,
    waiting_since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    sent_at: Instant,
    /// It was sent only once, so that its ACK gives a round-trip time (RFC 6298, section 3).
    is_timed: bool,
}

/// An ACK to the local TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalAck {
    pub(super) ack: Seq,
    pub(super) echo: Option<u32>,
    /// In octets.
    pub(super) window: u32,
}

/// The result of an ACK from the other end.
#[derive(Debug)]
pub(super) struct AckOutcome {
    pub(super) fate: Fate,
    /// A segment to send again.
    pub(super) repair: Option<Packet>,
    /// An ACK for a local TCP that was sent a zero window.
    pub(super) resume: Option<LocalAck>,
}

/// The action on the ACK itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It passes unchanged to the local TCP.
    Pass,
    /// It passes with this number and window.
    Restate(Seq, u32),
    /// It is dropped: the local TCP has that number already.
    Known,
}

/// The part of a segment that may be given up for segments of whole units: a twentieth.
const ALIGNMENT_COSTS: u16 = 20;
/// Octets of the timestamps option, with its padding (RFC 7323, appendix A).
const TIMESTAMPS: u16 = 12;

/// Lowers the maximum segment size in the SYN-ACK of a host that scales its window by `shift`, so that a window of one
/// segment is a whole number of units. What a window has beyond a segment, Linux fills at once with a short one.
pub(super) fn align_segments(syn_ack: &mut Packet, shift: u8) {
    let Some(options) = syn_ack.tcp().map(|tcp| &tcp.options) else { return };
    let of_options = options.timestamps.map_or(0, |_| TIMESTAMPS);
    let Some(segment) = options.maximum_segment_size.and_then(|size| size.checked_sub(of_options)) else {
        return;
    };
    let surplus = segment % (1 << shift);
    if surplus > 0
        && surplus <= segment / ALIGNMENT_COSTS
        && let Some(tcp) = syn_ack.tcp_mut()
    {
        tcp.options.maximum_segment_size = Some(segment - surplus + of_options);
    }
}

impl Control {
    pub(super) const fn new(room: usize) -> Self {
        Self {
            buffer: SegmentCache::new(usize::MAX),
            room,
            acknowledged: None,
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

    /// Processes data from the local TCP. Data that does not fit is not acknowledged here.
    pub(super) fn on_data(&mut self, packet: &Packet, memory: Room, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        let payload = packet.payload().len();
        // SYN and FIN are acknowledged only by the other end.
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
        if fits && self.acknowledged.is_none_or(|acknowledged| end.after(acknowledged)) {
            if self.buffer.is_empty() {
                self.waiting_since = now;
            }
            self.buffer.insert(packet, sizes, Stored { sent_at: now, is_timed: true });
        }
    }

    /// Whether the buffer's contents fit its maximum.
    pub(super) fn fits(&self) -> bool {
        self.buffer.octets() <= self.room && self.room > 0
    }

    /// Whether the buffer is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Octets of allocated memory.
    pub(super) fn allocated(&self) -> usize {
        self.buffer.allocated()
    }

    /// Processes the delivery of a segment over the hop. Returns the ACK for the local TCP.
    pub(super) fn on_delivered(&mut self, packet: &Packet) -> Option<LocalAck> {
        let tcp = packet.tcp()?;
        let (seq, end) = (tcp.seq, tcp.seq + packet.payload().len() as u32);
        let acknowledged = self.acknowledged.as_mut()?;
        if !end.after(*acknowledged) || !self.buffer.find_mut(seq).is_some_and(|stored| stored.end == end) {
            return None;
        }
        if seq.after(*acknowledged) {
            self.above.add(seq, end);
            return None;
        }
        *acknowledged = self.above.absorb(end);
        self.echo = tcp.options.timestamps.map(|timestamps| timestamps.value);
        self.local_ack()
    }

    fn local_ack(&mut self) -> Option<LocalAck> {
        let has_room = self.has_room();
        self.is_frozen = !has_room;
        let window = if has_room { self.segment } else { 0 };
        Some(LocalAck { ack: self.acknowledged?, echo: self.echo, window })
    }

    /// Whether one more segment fits, with its headers.
    fn has_room(&self) -> bool {
        self.buffer.octets() + self.segment as usize + 120 <= self.room
    }

    /// Processes an ACK from the other end. `is_bare` if it carries nothing else.
    pub(super) fn on_ack(&mut self, packet: &Packet, is_bare: bool, now: Instant) -> AckOutcome {
        let mut outcome = AckOutcome { fate: Fate::Pass, repair: None, resume: None };
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return outcome };
        let ack = tcp.ack;
        let acknowledged = *self.acknowledged.get_or_insert(ack);
        let first = self.buffer.first().map(|stored| stored.seq);
        let advances = first.is_some_and(|first| ack.after(first));
        if advances {
            self.on_advance(ack, now);
            let is_partial = self.recover.is_some_and(|recover| ack.before(recover));
            outcome.repair = if is_partial { self.first_again() } else { None };
            self.recover = self.recover.filter(|_| is_partial);
        } else if is_bare && first == Some(ack) && ack.before(acknowledged) {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES && self.recover.is_none() {
                self.recover = self.buffer.last().map(|last| last.end);
                self.waiting_since = now;
                outcome.repair = self.first_again();
            }
        }
        if ack.after(acknowledged) {
            self.acknowledged = Some(self.above.absorb(ack));
            self.is_frozen = false;
            outcome.fate = Fate::Restate(ack, self.one_segment(tcp.window));
        } else if ack.before(acknowledged) || (advances && ack == acknowledged) {
            outcome.fate =
                if is_bare { Fate::Known } else { Fate::Restate(acknowledged, self.one_segment(tcp.window)) };
        }
        if self.is_frozen && self.has_room() {
            outcome.resume = self.local_ack();
        }
        outcome
    }

    /// One segment, or zero if the receiver's window is zero.
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

    /// When the first segment is sent again, if the local TCP considers it delivered.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.buffer.first()?;
        if !self.acknowledged?.after(first.seq) {
            return None;
        }
        let timeout =
            self.smoothed.map_or(INITIAL_TIMEOUT, |(mean, deviation)| mean + deviation * 4).max(MIN_TIMEOUT);
        Some(self.waiting_since + (timeout * (1 << self.expiries.min(8))).min(MAX_TIMEOUT))
    }

    /// Sends the first segment again.
    pub(super) fn on_timeout(&mut self, now: Instant) -> Option<Packet> {
        self.expiries += 1;
        self.waiting_since = now;
        self.recover = self.buffer.last().map(|last| last.end);
        self.first_again()
    }

    /// The start of the data that the local TCP considers delivered and the receiver has not
    /// acknowledged.
    pub(super) fn unproven_from(&self) -> Option<Seq> {
        let first = self.buffer.first()?.seq;
        self.acknowledged?.after(first).then_some(first)
    }

    /// Octets that the local TCP considers delivered and the receiver has not acknowledged.
    pub(super) fn unproven(&self) -> u32 {
        self.acknowledged.zip(self.unproven_from()).map_or(0, |(acknowledged, first)| acknowledged - first)
    }
}
