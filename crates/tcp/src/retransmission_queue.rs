//! The retransmission queue: the outstanding segments, each with the time at which it was last sent.
//!
//! A connection fills it only if its recovery or its congestion control tracks single segments.

mod delivery;
mod outstanding;
mod rate;
mod reported_blocks;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};

pub use delivery::{Delivery, Echoed, Newest};
pub use outstanding::Outstanding;
pub use rate::{LostSegment, RateSample};

use rate::Meter;
use reported_blocks::{ReportedBlocks, duplicate};

/// Number of segments up to which reports of parts split them: a bound for the memory that a receiver
/// can occupy by reporting octet by octet.
const MAX_PIECES: usize = 1 << 16;

/// The segments between SND.UNA and SND.MAX in sequence order, without gaps.
#[derive(Clone, Debug, Default)]
pub struct RetransmissionQueue {
    segments: VecDeque<Outstanding>,
    /// Octets of reported segments.
    sacked: u32,
    /// Octets marked as lost and not reported.
    lost: u32,
    /// Octets of retransmissions that are in the network.
    again: u32,
    /// Octets that are lost and not retransmitted since.
    due: u32,
    /// The end of the highest reported segment.
    highest_sacked: Option<Seq>,
    /// Nothing before it is lost and not retransmitted: saves each of many retransmissions the search
    /// from the beginning. None: unknown.
    due_from: Option<Seq>,
    reported: ReportedBlocks,
    meter: Meter,
    /// The octets in the network are recorded with each segment sent.
    notes_in_network: bool,
    delivery: Delivery,
    min_rtt: Option<Duration>,
    /// The timestamp of segments sent now.
    timestamp: u32,
    /// The receiver has reported a retransmission as a duplicate: others count as spurious, too, until
    /// everything before this is acknowledged.
    needless_until: Option<Seq>,
}

impl RetransmissionQueue {
    /// Octets of memory per segment.
    pub const MEMORY_OF_ONE: usize = size_of::<Outstanding>();

    /// Octets of memory in use.
    pub fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<Outstanding>()
    }

    /// Octets in the network: sent, but neither received nor lost, plus retransmissions (`pipe` of RFC
    /// 6675, `inflight` of RFC 8985 and 9937).
    #[inline]
    pub fn in_network(&self) -> u32 {
        self.octets() - self.sacked - self.lost + self.again
    }

    /// Octets between SND.UNA and SND.MAX.
    #[inline]
    fn octets(&self) -> u32 {
        match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => last.end - first.seq,
            _ => 0,
        }
    }

    /// Octets reported above SND.UNA.
    pub const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Octets marked as lost, retransmitted or not.
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// Octets of retransmissions that are in the network.
    pub const fn again(&self) -> u32 {
        self.again
    }

    /// Whether nothing is reported, lost or retransmitted.
    #[inline]
    pub const fn is_in_order(&self) -> bool {
        self.sacked == 0 && self.lost == 0 && self.again == 0
    }

    /// The end of the highest reported segment.
    pub const fn highest_sacked(&self) -> Option<Seq> {
        self.highest_sacked
    }

    /// The effect of the last ACK.
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The minimum round-trip time of this connection.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// Octets delivered since the connection began.
    pub const fn delivered(&self) -> u64 {
        self.meter.delivered()
    }

    /// The time of the last delivery.
    pub const fn delivered_at(&self) -> Instant {
        self.meter.delivered_at()
    }

    /// Octets marked as lost since the connection began, rightly or not.
    pub const fn lost_in_all(&self) -> u64 {
        self.meter.lost()
    }

    /// Whether data sent while the application limited the sender is still in the network
    /// ([`Self::record_application_limited`]).
    pub const fn is_application_limited(&self) -> bool {
        self.meter.is_application_limited()
    }

    /// Sets the timestamp of segments sent from now on.
    #[inline]
    pub const fn set_timestamp(&mut self, timestamp: u32) {
        self.timestamp = timestamp;
    }

    /// The timestamp of segments sent now.
    pub const fn timestamp(&self) -> u32 {
        self.timestamp
    }

    /// Records the octets in the network with each segment sent.
    pub(crate) const fn record_in_network(&mut self) {
        self.notes_in_network = true;
    }

    /// The outstanding segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Outstanding> {
        self.segments.iter()
    }

    /// The oldest outstanding segment.
    pub fn first(&self) -> Option<&Outstanding> {
        self.segments.front()
    }

    /// Records that the application has nothing more to send: the delivery rate of the data in the
    /// network may be below the bandwidth of the path (draft-ietf-ccwg-bbr, section 4.1.2.4).
    pub fn record_application_limited(&mut self) {
        self.meter.record_application_limited(u64::from(self.in_network()));
    }

    /// The octets from `seq` to `end` are sent; those after the last segment for the first time.
    #[inline]
    pub fn on_sent(&mut self, seq: Seq, end: Seq, now: Instant) {
        let next = self.segments.back().map_or(seq, |last| last.end);
        if seq.before(next) {
            self.on_sent_again(seq, end.earlier(next), now);
        }
        if end.after(next) {
            let from = seq.later(next);
            let in_network = self.in_network_with(end - from);
            let stamp = self.meter.stamp(self.segments.is_empty(), in_network, now);
            self.segments.push_back(Outstanding::new(from, end, (now, self.timestamp), stamp));
        }
    }

    /// Octets in the network with `octets` more; 0 if not recorded.
    #[inline]
    fn in_network_with(&self, octets: u32) -> u32 {
        if self.notes_in_network { self.in_network() + octets } else { 0 }
    }

    #[cold]
    fn on_sent_again(&mut self, seq: Seq, end: Seq, now: Instant) {
        self.split_at(seq);
        self.split_at(end);
        let from = self.position(seq);
        let first_due = self.first_due().map(|first| first.seq);
        if first_due.is_some_and(|due| !due.before(seq) && due.before(end)) {
            self.due_from = Some(end);
        }
        let in_network = self.in_network_with(end - seq);
        let stamp = self.meter.stamp(false, in_network, now);
        let Self { segments, again, due, timestamp, .. } = self;
        for segment in segments.range_mut(from..).take_while(|segment| segment.seq.before(end)) {
            if !segment.is_sacked && !segment.is_again {
                *again += segment.octets();
                *due -= segment.due_octets();
                segment.is_again = true;
            }
            segment.was_sent_again = true;
            (segment.sent, segment.timestamp) = (now, *timestamp);
            segment.stamp = stamp;
        }
    }

    /// Begins a new [`Delivery`] for an ACK with this echoed timestamp. Follow with [`Self::on_sack`] and
    /// [`Self::on_cumulative_ack`].
    #[inline]
    pub fn begin_ack(&mut self, echo: Option<Echoed>) {
        self.delivery = Delivery { echo, ..Delivery::default() };
    }

    /// The same for a connection that does not fill the queue.
    #[inline]
    pub(crate) const fn set_echo(&mut self, echo: Option<Echoed>) {
        self.delivery.echo = echo;
    }

    /// Processes the SACK blocks of an ACK with this number.
    #[cold]
    pub fn on_sack(&mut self, ack: Seq, blocks: &[(Seq, Seq)], now: Instant) {
        self.delivery.duplicate = duplicate(ack, blocks);
        let Some((una, max)) = self.bounds() else { return };
        if self.delivery.duplicate.is_some() {
            self.needless_until = Some(max);
        }
        let mut reported = ReportedBlocks::default();
        for (place, &(left, right)) in blocks.iter().enumerate().take(4) {
            // By distance from SND.UNA: the order of sequence numbers is not transitive.
            let (from, to) = (left - una, right - una);
            if from >= to || to > max - una {
                continue;
            }
            reported.record(place, left, right);
            let (from, to) = self.reported.news(left, right);
            if from.before(to) {
                self.mark_sacked(from, to, now);
            }
        }
        self.reported = reported;
    }

    fn mark_sacked(&mut self, left: Seq, right: Seq, now: Instant) {
        if self.segments.len() < MAX_PIECES {
            self.split_at(left);
            self.split_at(right);
        }
        let mut at = self.position(left);
        while let Some(segment) = self.segments.get(at).copied()
            && !segment.end.after(right)
        {
            if !segment.is_sacked {
                self.record_reordering(&segment);
                self.record_delivery(&segment, true, now);
                self.delivery.sacked += segment.octets();
                self.sacked += segment.octets();
                self.forget_fate(&segment);
                if let Some(segment) = self.segments.get_mut(at) {
                    (segment.is_sacked, segment.is_lost, segment.is_again) = (true, false, false);
                }
            }
            at += 1;
        }
        // If no segment was split: the last one that is reported completely.
        let last = at.checked_sub(1).and_then(|last| self.segments.get(last));
        if let Some(last) = last.filter(|last| last.is_sacked) {
            let right = last.end;
            self.highest_sacked = Some(self.highest_sacked.map_or(right, |highest| highest.later(right)));
        }
    }

    /// Everything before `ack` is acknowledged.
    #[inline]
    pub fn on_cumulative_ack(&mut self, ack: Seq, now: Instant) {
        let timed = (self.delivery.first_sent, self.delivery.last_sent);
        let mut is_again = false;
        while let Some(first) = self.segments.front() {
            if !first.seq.before(ack) {
                break;
            }
            if first.end.after(ack) {
                self.split_at(ack);
            }
            let Some(segment) = self.segments.pop_front() else { break };
            is_again |= segment.was_sent_again;
            if segment.is_sacked {
                self.sacked -= segment.octets();
            } else {
                if self.highest_sacked.is_some() {
                    self.record_reordering(&segment);
                }
                self.record_delivery(&segment, false, now);
                self.delivery.acked += segment.octets();
                self.forget_fate(&segment);
            }
        }
        //= RFC 6298, section 3: an ACK that covers what was sent again is no measurement: the rest has waited for it. What the ACK
        //= reports newly is one.
        if is_again {
            (self.delivery.first_sent, self.delivery.last_sent) = timed;
        }
        if self.highest_sacked.is_some_and(|highest| !highest.after(ack)) {
            self.highest_sacked = None;
            self.reported = ReportedBlocks::default();
        }
        if self.lost == 0 {
            self.due_from = None;
        }
        self.needless_until = self.needless_until.filter(|until| ack.before(*until));
    }

    /// The segment was delivered: it is neither lost nor in the network.
    #[inline]
    fn forget_fate(&mut self, segment: &Outstanding) {
        let len = segment.octets();
        self.lost -= if segment.is_lost { len } else { 0 };
        self.again -= if segment.is_again { len } else { 0 };
        self.due -= segment.due_octets();
    }

    /// The segment was delivered now; `is_report` if by a SACK block.
    #[inline]
    fn record_delivery(&mut self, segment: &Outstanding, is_report: bool, now: Instant) {
        let rtt = now.since(segment.sent);
        self.meter.record(segment.stamp, segment.sent, segment.octets(), now);
        if segment.was_sent_again {
            //= RFC 8985, section 6.2, step 2: it echoes a timestamp from before the retransmission, or comes sooner than min_RTT after it.
            // Without timestamps, D-SACKs show it (RFC 2883). Otherwise the time from each retransmission to the ACK of its
            // original would count as round trip, and cause ever more spurious retransmissions.
            let has_left_before = match self.delivery.echo {
                Some(echo) => echo.is_before(segment.timestamp),
                None => self.needless_until.is_some(),
            };
            let is_too_soon = self.min_rtt.is_some_and(|least| rtt < least);
            // The timestamp is not that of a segment above a gap.
            let is_original = is_too_soon || (has_left_before && !is_report);
            if is_original || self.min_rtt.is_none() {
                self.delivery.copied_since = self.delivery.copied_since.max(Some(segment.first_sent));
            }
            if is_too_soon || has_left_before {
                return;
            }
        } else {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            let Delivery { first_sent, last_sent, first_original, .. } = &mut self.delivery;
            first_sent.get_or_insert(segment.sent);
            *last_sent = (*last_sent).max(Some(segment.sent));
            *first_original = Some(first_original.map_or(segment.end, |first| first.earlier(segment.end)));
        }
        let newest = Newest { sent: segment.sent, end: segment.end, rtt };
        self.delivery.newest = Some(self.delivery.newest.map_or(newest, |known| known.followed_by(newest)));
    }

    //= RFC 8985, section 6.2, step 3: a segment that was sent once is delivered below what was delivered before: reordering.
    fn record_reordering(&mut self, segment: &Outstanding) {
        let overtaken = self.highest_sacked.filter(|highest| segment.end.before(*highest));
        if !segment.was_sent_again && overtaken.is_some() {
            self.delivery.is_reordered = true;
        }
    }

    /// The delivery rate of the data that this ACK delivered; None if it shows none.
    #[inline]
    pub fn rate_sample(&mut self, now: Instant) -> Option<RateSample> {
        self.meter.sample(now, self.min_rtt)
    }

    /// Marks each segment in the network as lost for which `is_lost` is true, from the oldest on, until
    /// `is_lost` breaks; calls `on_lost` with each. Returns the number of octets marked.
    pub fn mark_lost(
        &mut self,
        mut is_lost: impl FnMut(&Outstanding) -> ControlFlow<(), bool>,
        mut on_lost: impl FnMut(&LostSegment),
    ) -> u32 {
        let (mut newly, mut first_newly) = (0, None);
        for segment in &mut self.segments {
            let is_under_way = !segment.is_sacked && (!segment.is_lost || segment.is_again);
            if !is_under_way {
                continue;
            }
            match is_lost(segment) {
                ControlFlow::Continue(true) => {}
                ControlFlow::Continue(false) => continue,
                ControlFlow::Break(()) => break,
            }
            let len = segment.octets();
            newly += len;
            first_newly.get_or_insert(segment.seq);
            if segment.is_again {
                self.again -= len;
            }
            if !segment.is_lost {
                self.lost += len;
            }
            (segment.is_lost, segment.is_again) = (true, false);
            self.due += len;
            on_lost(&self.meter.record_lost(segment.seq, segment.end, &segment.stamp));
        }
        if let Some((due_from, first)) = self.due_from.zip(first_newly) {
            self.due_from = Some(due_from.earlier(first));
        }
        newly
    }

    /// Reverts all marks: what counted as lost is in the network.
    pub fn unmark_lost(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| segment.is_lost) {
            segment.is_lost = false;
        }
        (self.lost, self.due) = (0, 0);
    }

    /// Discards all reports: the receiver may have dropped the data (RFC 2018, section 8).
    pub fn forget_reports(&mut self) {
        for segment in &mut self.segments {
            segment.is_sacked = false;
        }
        self.sacked = 0;
        self.highest_sacked = None;
        self.reported = ReportedBlocks::default();
    }

    /// The first segment that is lost and not retransmitted since: its first sequence number, and its
    /// length up to `room`.
    pub fn next_lost(&self, room: u32) -> Option<(Seq, u32)> {
        self.first_due().map(|first| (first.seq, first.octets().min(room)))
    }

    fn first_due(&self) -> Option<&Outstanding> {
        if self.due == 0 {
            return None;
        }
        let from = self.due_from.map_or(0, |seq| self.position(seq));
        self.segments.range(from..).find(|segment| segment.is_lost && !segment.is_again)
    }

    /// Segments of which a retransmission is in the network.
    pub fn retransmissions_under_way(&self) -> u32 {
        self.segments.iter().filter(|segment| segment.is_again).count() as u32
    }

    /// Whether the segment that ends at `end` may have been retransmitted; true if it is acknowledged.
    pub fn may_be_sent_again(&self, end: Seq) -> bool {
        let last = self.position(end).checked_sub(1).and_then(|at| self.segments.get(at));
        last.is_none_or(|segment| segment.was_sent_again)
    }

    /// The last unreported segment.
    pub fn last_missing(&self) -> Option<&Outstanding> {
        self.segments.iter().rev().find(|segment| !segment.is_sacked)
    }

    fn bounds(&self) -> Option<(Seq, Seq)> {
        Some((self.segments.front()?.seq, self.segments.back()?.end))
    }

    /// The index of the first segment that begins at `seq` or later.
    fn position(&self, seq: Seq) -> usize {
        self.segments.partition_point(|segment| segment.seq.before(seq))
    }

    /// Splits the segment that contains `seq`, if any, so that one begins there.
    fn split_at(&mut self, seq: Seq) {
        let at = self.position(seq);
        let Some(before) = at.checked_sub(1).and_then(|at| self.segments.get_mut(at)) else { return };
        if before.end.after(seq) {
            let rest = Outstanding { seq, ..*before };
            before.end = seq;
            self.segments.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests;
