//! Room in the window for aggregated ACKs: the octets that they acknowledged in excess of the
//! bandwidth in the last five to ten round trips (`bbr_update_ack_aggregation`).

use std::time::Duration;

use lasthop_packet::Instant;

use crate::congestion::bbr::aggregation::Aggregation;
use crate::congestion::bbr::rate::octets_in;
use crate::congestion::bbr::windowed_max::TwoSlots;

/// Round trips of a slot (`bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;
/// The longest gap between ACKs that the room covers (`bbr_extra_acked_max_us`).
const MAX_GAP: Duration = Duration::from_millis(100);

/// The recent maximum of the excess.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExtraAcked {
    aggregation: Aggregation,
    max_excess: TwoSlots,
    /// Round trips in this slot.
    rounds: u32,
}

impl ExtraAcked {
    pub(super) const fn restart(&mut self, now: Instant) {
        self.aggregation.restart(now);
    }

    /// Processes an ACK.
    pub(super) fn update(
        &mut self,
        acked: u64,
        bandwidth: u64,
        is_round_start: bool,
        cwnd: u32,
        now: Instant,
    ) {
        if acked == 0 {
            return;
        }
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.max_excess.advance();
            }
        }
        self.max_excess.update(self.aggregation.excess(acked, bandwidth, now).min(u64::from(cwnd)));
    }

    /// Octets to add to the window (`bbr_ack_aggregation_cwnd`).
    pub(super) fn room(&self, bandwidth: u64) -> u64 {
        self.max_excess.get().min(octets_in(bandwidth, MAX_GAP))
    }
}
