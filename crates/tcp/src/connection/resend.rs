//! What leaves again, and what leaves while a loss is being recovered from.

use lasthop_packet::{Instant, Seq, TcpFlags};

use super::Connection;
use super::segment::Segment;
use crate::congestion::SentSegment;
use crate::recovery::{Chance, Missing, Next};

impl Connection {
    /// What recovery wants to leave next, and how much fits into a segment.
    #[cold]
    pub(super) fn next_in_recovery(&mut self, now: Instant) -> (Next, u32) {
        let room = self.segment_room();
        let is_new_data = self.next_len(self.flight.peer_window, room) > 0 || self.is_fin_next();
        let chance = Chance { room, is_new_data };
        (self.ask_recovery(now, |recovery, sender| recovery.next(sender, chance)), room)
    }

    /// While what was sent before goes again: moves SND.NXT over what the receiver has. Returns
    /// what may be outstanding, and how much may go at once.
    #[cold]
    pub(super) fn skip_what_is_reported(&mut self) -> (u32, u32) {
        let Missing { from, to, left } = self.recovery.missing(&self.flight);
        self.flight.nxt = from;
        let window = self.flight.cwnd.saturating_add(left).min(self.flight.peer_window);
        // What ends at SND.MAX may go on with new data.
        let most = if to == self.flight.max { u32::MAX } else { to - from };
        (window, self.segment_room().min(most))
    }

    #[inline]
    pub(super) fn transmit_retransmission(&mut self, now: Instant) -> Option<Segment> {
        while !self.retransmit.is_empty() {
            let seq = self.retransmit.remove(0);
            if self.flight.is_outstanding(seq) {
                return Some(self.retransmission(seq, u32::MAX, now));
            }
        }
        None
    }

    /// A segment again, of `len` octets at most.
    pub(super) fn retransmission(&mut self, seq: Seq, len: u32, now: Instant) -> Segment {
        self.rtt.stop_timing();
        // Vegas looks at the first two ACKs of new data behind it (Brakmo and Peterson 1995,
        // section III.A).
        self.suspicious_acks = 2;
        let position = u64::from(seq - self.flight.una);
        let len = len.min(self.segment_room()).min(self.flight.max - seq).min(self.up_to_urgent_end(seq));
        let payload = self.buffer.slice(position, len);
        self.announce(&SentSegment { now, seq, end: seq + len, is_retransmission: true });
        if seq == self.flight.una {
            self.timers.retransmit = Some(self.rtt.expiry(now));
        }
        self.stats.retransmits += 1;
        let mut segment = self.data_segment(seq, payload);
        // The last segment carries the FIN along if that is out already.
        if self.fin_sent() && position + segment.payload.len() as u64 == self.buffer.len() {
            segment.flags = segment.flags.with(TcpFlags::FIN);
        }
        segment
    }
}
