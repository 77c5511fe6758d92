//! The next segment to send, and its accounting: RFC 9293, section 3.8, and RFC 5681.

use lasthop_packet::{Instant, Payload, Seq, TcpFlags};

use super::{Departure, End, SendSide};
use crate::congestion::SentSegment;
use crate::recovery::{Chance, Missing, Next};
use crate::state::State;

/// A segment without its header.
pub(crate) struct Segment {
    pub seq: Seq,
    pub flags: TcpFlags,
    pub payload: Payload,
    /// It has only new data, and is not a window probe.
    pub is_new_data: bool,
}

impl Segment {
    /// A segment without data.
    pub(crate) const fn bare(seq: Seq, flags: TcpFlags) -> Self {
        Self { seq, flags, payload: Payload::EMPTY, is_new_data: false }
    }
}

/// Fast checks of the most common cases: nothing or only an ACK to send. [`SendSide::next_segment`] has the
/// same result.
impl SendSide {
    /// Whether there is nothing to send, as at a sender whose window is full. `room` as in
    /// [`Self::next_segment`].
    #[inline]
    pub(crate) fn is_idle(&self, room: impl FnOnce() -> u32) -> bool {
        (self.stream.len() == 0 || self.is_window_full(room())) && self.has_nothing_special()
    }

    /// Whether there is nothing to send but new data.
    #[inline]
    fn has_nothing_special(&self) -> bool {
        self.stream.end() == End::Open && !self.retransmission_goes_alone && self.retransmit.is_empty()
    }

    /// Whether new data has to wait for an ACK.
    #[inline]
    fn is_window_full(&self, room: u32) -> bool {
        let flight = &self.flight;
        let (in_flight, window) = (flight.in_flight(), flight.window());
        in_flight + room > window
            && in_flight > 0
            && flight.nxt == flight.max
            && self.control.duplicate_acks() == 0
            && self.stream.len() > u64::from(window)
            && self.retransmission_timer.is_some()
            && !self.control.is_recovering()
            && self.departure.is_at_once()
    }

    /// Whether there is nothing to send and nothing outstanding, as at the receiver of a transfer.
    #[inline]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.stream.len() == 0
            && self.has_nothing_special()
            && self.flight.una == self.flight.max
            && !self.control.is_recovering()
            && self.departure.is_unused()
    }
}

impl SendSide {
    /// The next segment with data or FIN, once the SYN is acknowledged. `room` is at most
    /// [`Self::segment_room`].
    #[inline]
    pub(crate) fn next_segment(&mut self, room: u32, now: Instant) -> Option<Segment> {
        if self.stream.is_incomplete() {
            return None;
        }
        if self.departure.is_paced() && self.is_held_back(now) {
            return None;
        }
        match self.next_retransmission(room, now) {
            None if self.retransmission_goes_alone => None,
            None => self.transmit_more(room, now),
            retransmission => retransmission,
        }
    }

    /// Nothing more is sent before the next input.
    #[inline]
    pub(crate) fn on_nothing_sent(&mut self, now: Instant) {
        self.retransmission_goes_alone = false;
        self.keep_timer(now);
    }

    /// Starts the retransmission timer if anything is outstanding and no timer runs, even if everything was
    /// reported: a receiver may discard data that it has reported (RFC 2018, section 8).
    #[inline]
    fn keep_timer(&mut self, now: Instant) {
        let is_timed = self.retransmission_timer.is_some()
            || self.peer_window.next_probe().is_some()
            || self.departure.timer().is_some();
        if !is_timed && self.flight.una != self.flight.max {
            self.start_timer(now);
        }
    }

    /// The sequence number of an empty segment: SND.MAX, not SND.NXT, which after a time-out may be below
    /// the peer's RCV.NXT: the peer would answer the ACK instead of processing it. For the same reason it
    /// is the window's end if the window is closed (Linux `tcp_acceptable_seq`).
    pub(crate) const fn bare_number(&self, state: State) -> Seq {
        let is_closed = self.flight.peer_window == 0 && !state.is_handshaking();
        if is_closed { self.flight.una } else { self.flight.max }
    }

    pub(crate) fn has_more(&self) -> bool {
        self.has_unsent() || self.control.is_recovering() || self.is_fin_next() || !self.retransmit.is_empty()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.stream.len() > u64::from(self.flight.in_flight())
    }

    #[inline]
    fn next_retransmission(&mut self, room: u32, now: Instant) -> Option<Segment> {
        while !self.retransmit.is_empty() {
            let seq = self.retransmit.remove(0);
            if self.flight.is_outstanding(seq) {
                return Some(self.retransmission(seq, u32::MAX, room, now));
            }
        }
        None
    }

    /// A retransmission of at most `len` octets.
    fn retransmission(&mut self, seq: Seq, len: u32, room: u32, now: Instant) -> Segment {
        self.rtt.stop_timing();
        self.control.on_retransmission();
        let position = u64::from(seq - self.flight.una);
        let to_urgent_end = self.stream.urgent().distance_from(seq);
        let len = len.min(room).min(self.flight.max - seq).min(to_urgent_end);
        let (payload, mut flags) = self.stream.data_at(position, len);
        self.announce(&SentSegment { now, seq, end: seq + len, is_retransmission: true });
        if seq == self.flight.una {
            self.start_timer(now);
        }
        self.stats.retransmits += 1;
        // The last segment has FIN, if that was sent before.
        if self.stream.end() >= End::Sent && position + payload.len() as u64 == self.stream.len() {
            flags = flags.with(TcpFlags::FIN);
        }
        Segment { seq, flags, payload, is_new_data: false }
    }

    /// The next segment apart from requested retransmissions. There is only one call of
    /// [`Self::transmit_next`], so that the segment is built in place.
    #[inline]
    fn transmit_more(&mut self, room: u32, now: Instant) -> Option<Segment> {
        let mut segments = 1;
        let (window, most) = if self.control.is_recovering() {
            match self.next_in_recovery(room, now) {
                Next::ByWindow => (self.flight.window(), room),
                Next::New => (self.flight.peer_window, room),
                Next::Again(seq, len) => return Some(self.retransmission(seq, len, room, now)),
                // With nothing outstanding, no ACK would arrive: a closed window is probed.
                Next::Nothing if self.flight.in_flight() == 0 && self.flight.peer_window == 0 => (0, room),
                Next::Nothing => return None,
            }
        } else if self.flight.nxt == self.flight.max {
            if self.departure.is_in_super_packets() && self.waits_for_more(now) {
                return None;
            }
            segments = self.max_segments;
            (self.control.window(&self.flight), room)
        } else {
            self.skip_what_is_reported(room)
        };
        self.transmit_next(window, (most, segments), now)
    }

    /// The next segment by loss recovery.
    #[cold]
    fn next_in_recovery(&mut self, room: u32, now: Instant) -> Next {
        let is_new_data = self.next_len(self.flight.peer_window, room) > 0 || self.is_fin_next();
        let chance = Chance { room, is_new_data };
        self.call_recovery(now, |recovery, sender| recovery.next(sender, chance))
    }

    /// After a time-out: moves SND.NXT over reported data. Returns the window, and the maximum length of the
    /// next segment.
    #[cold]
    fn skip_what_is_reported(&mut self, room: u32) -> (u32, u32) {
        let Missing { from, to, left } = self.control.missing(&self.flight);
        self.flight.nxt = from;
        let window = self.flight.cwnd.saturating_add(left).min(self.flight.peer_window);
        // A segment that reaches SND.MAX may continue with new data.
        let most = if to == self.flight.max { u32::MAX } else { to - from };
        (window, room.min(most))
    }

    /// Octets of the segment at SND.NXT, at most `most`, if `window` octets may be outstanding; 0 if it is
    /// too small to be sent.
    #[inline]
    fn next_len(&self, window: u32, most: u32) -> u32 {
        let in_flight = self.flight.in_flight();
        let unsent = self.stream.len().saturating_sub(u64::from(in_flight));
        let usable = self.stream.limit(window).saturating_sub(in_flight);
        let len = u64::from(usable.min(most)).min(unsent) as u32;
        // Silly window avoidance (RFC 9293, section 3.8.6.2.1): a full segment, the last one, or the complete
        // window of an idle connection.
        let is_worth_it = len == most || u64::from(len) == unsent || in_flight == 0;
        if is_worth_it { len } else { 0 }
    }

    /// A segment at SND.NXT, or a super-packet of up to `segments`.
    #[inline]
    fn transmit_next(
        &mut self,
        window: u32,
        (mut most, mut segments): (u32, u32),
        now: Instant,
    ) -> Option<Segment> {
        if !self.stream.urgent().is_empty() {
            let to_urgent_end = self.stream.urgent().distance_from(self.flight.nxt);
            (most, segments) = (most.min(to_urgent_end), 1);
        }
        let in_flight = self.flight.in_flight();
        let is_all_sent = self.stream.len() <= u64::from(in_flight);
        if self.flight.peer_window == 0 && in_flight == 0 && !is_all_sent {
            return self.window_probe(now);
        }
        let mut len = self.next_len(window, most);
        if segments > 1 && len == most && most == self.flight.mss {
            len = self.super_packet_len(window, most, segments);
        }
        if len == 0 {
            return if is_all_sent { self.transmit_fin(now) } else { None };
        }
        let seq = self.flight.nxt;
        let (payload, flags) = self.stream.data_at(u64::from(in_flight), len);
        self.flight.nxt += len;
        let is_new_data = seq == self.flight.max;
        self.account_for(seq, now);
        Some(Segment { seq, flags, payload, is_new_data })
    }

    /// A window probe of one octet each time the persist timer expires (RFC 9293, section 3.8.6.1). SND.NXT
    /// is unchanged, and no retransmission timer runs for it: that the peer does not accept it is no loss.
    #[cold]
    fn window_probe(&mut self, now: Instant) -> Option<Segment> {
        self.retransmission_timer = None;
        if !self.peer_window.probe(self.rtt.expiry(now)) {
            return None;
        }
        let seq = self.flight.nxt;
        self.flight.max = self.flight.max.later(seq + 1);
        let (payload, flags) = self.stream.data_at(u64::from(seq - self.flight.una), 1);
        Some(Segment { seq, flags, payload, is_new_data: false })
    }

    /// Whether our FIN is next.
    fn is_fin_next(&self) -> bool {
        matches!(self.stream.end(), End::Closed | End::Sent)
            && self.flight.nxt == self.flight.una + self.stream.len() as u32
    }

    /// FIN, for the first time or after a time-out.
    fn transmit_fin(&mut self, now: Instant) -> Option<Segment> {
        if !self.is_fin_next() {
            return None;
        }
        self.stream.on_fin_sent();
        let seq = self.flight.nxt;
        self.flight.nxt += 1;
        self.account_for(seq, now);
        Some(Segment::bare(seq, TcpFlags::FIN.with(TcpFlags::ACK)))
    }

    /// Payload that fits into the next segment beside the options in every segment.
    #[inline]
    pub(crate) fn segment_room(&self) -> u32 {
        self.path_mtu.room(self.flight.mss)
    }

    /// A segment from `seq` to SND.NXT is sent: times it or counts it as a retransmission, and starts the
    /// timer.
    #[inline]
    pub(super) fn account_for(&mut self, seq: Seq, now: Instant) {
        if self.validation.is_some() {
            self.shrink_if_idle(seq, now);
        }
        let is_retransmission = seq != self.flight.max;
        if self.flight.nxt.after(self.flight.max) {
            // Only completely new segments are timed (RFC 6298, section 3).
            if !is_retransmission {
                self.rtt.time_segment(seq, now);
            }
            self.flight.max = self.flight.nxt;
        } else {
            self.stats.retransmits += 1;
        }
        self.announce(&SentSegment { now, seq, end: self.flight.nxt, is_retransmission });
        if let Some(validation) = &mut self.validation {
            validation.on_sent(&self.flight, self.control.in_network(&self.flight));
        }
        if self.retransmission_timer.is_none() {
            self.start_timer(now);
        }
    }

    /// The segment at `seq` is about to be sent: shrinks the window after an idle time.
    #[inline(never)]
    fn shrink_if_idle(&mut self, seq: Seq, now: Instant) {
        let Some(validation) = &mut self.validation else { return };
        if let Some(idle) = validation.idle_time(seq, &self.flight, now)
            && !self.control.congestion().rules_recovery()
        {
            validation.shrink_after(idle, self.rtt.rto(), &mut self.flight);
        }
    }

    /// Reports a sent segment to the parts that need it.
    #[inline]
    pub(super) fn announce(&mut self, segment: &SentSegment) {
        self.control.congestion_mut().on_sent(segment);
        self.path_mtu.on_sent(segment, self.flight.mss);
        if self.departure.is_paced() {
            self.pace(segment);
        }
        if self.control.goes_by_segments() {
            self.enter(segment);
        }
    }

    #[inline(never)]
    fn enter(&mut self, segment: &SentSegment) {
        let now = segment.now;
        if let Departure::InSuperPackets(super_packet) = &mut self.departure {
            super_packet.on_sent(now);
        }
        let piece = if self.max_segments > 1 { self.flight.mss } else { u32::MAX };
        self.control.enter(segment, piece, self.timestamp_clock.reads(now));
        if self.retransmission_timer.is_none() {
            let oldest = self.control.queue().first().map_or(now, |first| first.sent);
            self.retransmission_timer = Some(self.rtt.expiry(oldest).max(now));
        }
        self.call_recovery(now, |recovery, sender| recovery.on_sent(segment, sender));
    }
}
