//! Room in the window for ACKs that come all at once: as much as they brought beyond the bandwidth
//! in the last five to ten round trips (`bbr_update_ack_aggregation`).

use std::time::Duration;

use lasthop_packet::Instant;

use crate::congestion::bbr::aggregation::Aggregation;
use crate::congestion::bbr::rate::octets_in;
use crate::congestion::bbr::two_slots::TwoSlots;

/// Round trips of a slot (`bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;
/// The room is for silences up to this long (`bbr_extra_acked_max_us`).
const LONGEST_SILENCE: Duration = Duration::from_millis(100);

/// The largest excess of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExtraAcked {
    aggregation: Aggregation,
    most: TwoSlots,
    /// Round trips in this slot.
    rounds: u32,
}

impl ExtraAcked {
    pub(super) const fn restart(&mut self, now: Instant) {
        self.aggregation.restart(now);
    }

    /// An ACK brought octets.
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
                self.most.advance();
            }
        }
        self.most.update(self.aggregation.excess(acked, bandwidth, now).min(u64::from(cwnd)));
    }

    /// Octets by which the window is larger (`bbr_ack_aggregation_cwnd`).
    pub(super) fn room(&self, bandwidth: u64) -> u64 {
        self.most.get().min(octets_in(bandwidth, LONGEST_SILENCE))
    }
}
