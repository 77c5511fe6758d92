//! Pacing, and the delays of segmentation offload (`tcp_tso_should_defer`, Linux 6.18).
//!
//! The only queue below TCP in a simulated host is that of its link, which accepts packets at once: TCP
//! small queues would have nothing to limit.

use lasthop_packet::Instant;

use super::{Departure, End, SendSide};
use crate::congestion::SentSegment;

/// The part of the window that is sent without delay (`tcp_tso_win_divisor`).
const ENOUGH: u32 = 3;

/// The largest payload of an IP packet with headers of maximum length.
const LARGEST_PAYLOAD: u32 = 65_535 - 60 - 60;

impl SendSide {
    /// Whether the next segment has to wait for its time.
    #[inline(never)]
    pub(super) fn is_held_back(&mut self, now: Instant) -> bool {
        let Departure::Paced(pacer) = &mut self.departure else { return false };
        let (control, flight, rtt) = (&self.control, &self.flight, &self.rtt);
        // Never more than half of the window (`tcp_cwnd_test`).
        let half = || (flight.cwnd / flight.mss / 2).max(1);
        let holds = pacer.holds(now, || control.super_packet(flight, rtt).min(half()));
        let waits = holds && self.has_more();
        if let Departure::Paced(pacer) = &mut self.departure {
            pacer.set_timer(waits);
        }
        holds
    }

    /// A segment is sent: sets the time of the next one.
    #[inline(never)]
    pub(super) fn pace(&mut self, segment: &SentSegment) {
        self.control.restart_model(&mut self.flight, segment.now);
        if let Some(pacing) = self.control.pacing(&self.flight, &self.rtt)
            && let Departure::Paced(pacer) = &mut self.departure
        {
            pacer.on_sent(segment.end - segment.seq, segment.now, pacing.rate);
        }
    }

    /// Octets of a super-packet at SND.NXT of at most `segments` segments of `room` octets each, at least one
    /// of which fits into the window.
    pub(super) fn super_packet_len(&self, window: u32, room: u32, segments: u32) -> u32 {
        let segments = segments.min(LARGEST_PAYLOAD / room).max(1);
        let in_flight = self.flight.in_flight();
        let usable = self.stream.limit(window).saturating_sub(in_flight);
        let unsent = self.stream.len().saturating_sub(u64::from(in_flight));
        let len = unsent.min(u64::from(usable.min(room * segments))) as u32;
        // Full segments, unless it contains the last data.
        if u64::from(len) == unsent { len } else { len / room * room }
    }

    /// Whether new data waits for the next ACK, because less than a super-packet could be sent now. If not,
    /// a super-packet begins, or continues.
    #[inline(never)]
    pub(super) fn waits_for_more(&mut self, now: Instant) -> bool {
        let Departure::InSuperPackets(super_packet) = &mut self.departure else { return false };
        if super_packet.includes_next(now) {
            return false;
        }
        let (flight, mss) = (&self.flight, self.flight.mss);
        let room = |window: u32| window.saturating_sub(flight.in_flight());
        let by_cwnd = room(flight.cwnd);
        let by_peer = room(self.stream.limit(flight.peer_window));
        let (limit, most) = (by_cwnd.min(by_peer), self.control.super_packet(flight, &self.rtt));
        let is_ack_near = || {
            let oldest = self.control.queue().first().zip(self.rtt.srtt());
            oldest.is_some_and(|(oldest, srtt)| now.since(oldest.sent) >= srtt / 2)
        };
        let unsent = self.stream.len().saturating_sub(flight.in_flight().into());
        let is_last = self.stream.end() > End::Open && unsent <= LARGEST_PAYLOAD.into();
        // Less than a segment is not sent in any case. The last segment is always sent, and so is data that
        // ends with FIN: it does not get larger.
        let waits = limit >= mss
            && limit < most.saturating_mul(mss)
            && limit < flight.cwnd.min(flight.peer_window) / ENOUGH
            && unsent > mss.into()
            && !is_last
            && super_packet.is_recent(now)
            && is_ack_near();
        if !waits {
            super_packet.begin((limit / mss).min(most));
        } else if by_cwnd <= by_peer {
            // The window is full except for the waiting octets.
            super_packet.hold(limit);
            if let Some(validation) = &mut self.validation {
                validation.on_window_full(flight);
            }
        }
        waits
    }
}
