//! Segmentation offload, as far as it says when segments leave (`tcp_tso_should_defer`, Linux 6.18).

use lasthop_packet::Instant;

use super::Connection;

/// So much of the window is enough to be sent (`tcp_tso_win_divisor`).
const ENOUGH: u32 = 3;

impl Connection {
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
