//! Segmentation offload, as far as it says when segments leave (`tcp_tso_should_defer`, Linux 6.18).

use lasthop_packet::Instant;

use super::Connection;

/// So much of the window is enough to be sent (`tcp_tso_win_divisor`).
const ENOUGH: u32 = 3;

/// No IP packet has more payload.
const LARGEST_PAYLOAD: u32 = 65_535 - 60 - 60;

impl Connection {
    /// From now on data may leave in super-packets ([`Packet::segment_size`]) of up to `segments`
    /// segments, which the owner can send on.
    ///
    /// [`Packet::segment_size`]: lasthop_packet::Packet::segment_size
    pub fn allow_super_packets(&mut self, segments: u32) {
        self.most_segments = segments.max(1);
    }

    /// Octets of a super-packet at SND.NXT of at most `segments` segments of `room` octets each, of
    /// which at least one fits into the window.
    pub(super) fn super_packet_len(&self, window: u32, room: u32, segments: u32) -> u32 {
        let segments = segments.min(LARGEST_PAYLOAD / room).max(1);
        let in_flight = self.flight.in_flight();
        let usable = window.min(self.config.send_window.unwrap_or(u32::MAX)).saturating_sub(in_flight);
        let unsent = self.buffer.len().saturating_sub(u64::from(in_flight));
        let len = unsent.min(u64::from(usable.min(room * segments))) as u32;
        // Full segments, unless it is the last data that there is.
        if u64::from(len) == unsent { len } else { len / room * room }
    }

    /// Whether new data waits for the next ACK, because less than a super-packet could leave now. If
    /// not, a super-packet begins, or goes on.
    #[inline(never)]
    pub(super) fn waits_for_more(&mut self, now: Instant) -> bool {
        let Some(mut super_packet) = self.super_packet.filter(|packet| !packet.goes_on(now)) else {
            return false;
        };
        let (flight, mss) = (&self.flight, self.flight.mss);
        let room = |window: u32| window.saturating_sub(flight.in_flight());
        let by_cwnd = room(flight.cwnd);
        let by_peer = room(flight.peer_window.min(self.config.send_window.unwrap_or(u32::MAX)));
        let (limit, most) = (by_cwnd.min(by_peer), self.super_packet_segments());
        let is_oldest_late = self
            .queue
            .first()
            .zip(self.rtt.srtt())
            .is_some_and(|(oldest, srtt)| now.since(oldest.sent) >= srtt / 2);
        // What is not even a segment does not leave anyhow, and the last segment always does.
        let waits = limit >= mss
            && limit < most.saturating_mul(mss)
            && limit < flight.cwnd.min(flight.peer_window) / ENOUGH
            && self.buffer.len() > u64::from(flight.in_flight()) + u64::from(mss)
            && super_packet.is_recent(now)
            // Its ACK is near.
            && is_oldest_late;
        if !waits {
            super_packet.begin((limit / mss).min(most));
        } else if by_cwnd <= by_peer {
            // The window is full but for what waits.
            super_packet.hold(limit);
            self.note_full_window();
        }
        self.super_packet = Some(super_packet);
        waits
    }
}
