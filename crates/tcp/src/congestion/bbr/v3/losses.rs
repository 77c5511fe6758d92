//! When losses are too many (draft-ietf-ccwg-bbr, sections 5.3.1.3 and 5.5.10.2).

use lasthop_packet::Seq;

use crate::retransmission_queue::LostSegment;

/// `BBR.LossThresh`: more than a fiftieth.
const THRESHOLD: u64 = 50;
//= draft-ietf-ccwg-bbr, section 5.3.1.3: BBRStartupFullLossCnt.
const RANGES: u32 = 6;

/// Whether too many of the octets in the network were lost.
pub(super) fn is_above_threshold(lost: u64, in_network: u32) -> bool {
    lost * THRESHOLD > u64::from(in_network)
}

/// The octets in the network when losses exceeded the threshold, within this segment
/// (`InflightAtLoss ()`).
pub(super) fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let size = u64::from(lost.end - lost.seq);
    let before = u64::from(lost.in_network).saturating_sub(size);
    let lost_before = lost.lost.saturating_sub(size);
    let prefix = before.saturating_sub(lost_before * THRESHOLD) / (THRESHOLD - 1);
    before + prefix
}

/// The number of ranges lost in this round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostRanges {
    count: u32,
    /// The end of the last range.
    end: Option<Seq>,
}

impl LostRanges {
    pub(super) fn add(&mut self, lost: &LostSegment) {
        if self.end != Some(lost.seq) {
            self.count = self.count.saturating_add(1);
        }
        self.end = Some(lost.end);
    }

    /// Whether there are enough to end Startup.
    pub(super) const fn are_many(&self) -> bool {
        self.count >= RANGES
    }
}

#[cfg(test)]
mod tests {
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
