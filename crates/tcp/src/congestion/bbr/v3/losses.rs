//! The effect of a lost segment on the long-term limit (draft-ietf-ccwg-bbr, section 5.5.10.2).

use lasthop_packet::Instant;

use super::model::{Bbr3, LOSS_THRESHOLD};
use super::short_term::beta;
use super::state::State;
use super::undo::Return;
use crate::flight::Flight;
use crate::retransmission_queue::LostSegment;

impl Bbr3 {
    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleLostPacket ().
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        self.lost_ranges.add(lost);
        if self.short_term.on_loss(lost.delivered) {
            self.save_upon_loss(flight.cwnd);
        }
        if self.cycle.is_sampling && self.is_too_much(lost.lost, lost.in_network) {
            self.handle_too_much(inflight_at_loss(lost), lost, now, flight);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleInflightTooHigh ().
    fn handle_too_much(&mut self, in_network: u64, lost: &LostSegment, now: Instant, flight: &Flight) {
        (self.cycle.was_too_high, self.cycle.is_sampling) = (true, false);
        if !lost.is_application_limited {
            self.long_term.set(in_network.max(beta(self.target_inflight(flight))));
        }
        if self.state == State::Up {
            self.undo.state = Some(Return::Up);
            self.start_down(lost.delivered, now);
        }
    }
}

/// The octets in the network when losses exceeded the threshold, within this segment
/// (`InflightAtLoss ()`).
fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let size = u64::from(lost.end - lost.seq);
    let before = u64::from(lost.in_network).saturating_sub(size);
    let lost_before = lost.lost.saturating_sub(size);
    let prefix = before.saturating_sub(lost_before * LOSS_THRESHOLD) / (LOSS_THRESHOLD - 1);
    before + prefix
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Seq;

    use super::*;

    #[test]
    fn the_volume_at_a_loss_is_where_losses_exceeded_the_threshold() {
        let lost = |in_network, lost| LostSegment {
            seq: Seq(0),
            end: Seq(1000),
            in_network,
            lost,
            delivered: 0,
            is_application_limited: false,
        };
        // With the second loss of 1000 octets, losses reach 2% of the octets in the network.
        assert_eq!(inflight_at_loss(&lost(100_000, 2000)), 99_000 + (99_000 - 50_000) / 49);
        // Losses exceeded the threshold before this segment.
        assert_eq!(inflight_at_loss(&lost(50_000, 9000)), 49_000);
    }
}
