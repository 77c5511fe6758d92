//! Accounting of sent segments.

use lasthop_packet::{Instant, Seq};

use super::{Departure, SendSide};
use crate::congestion::SentSegment;

impl SendSide {
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
        self.ask_recovery(now, |recovery, sender| recovery.on_sent(segment, sender));
    }
}
