//! Lost ranges of sequence numbers (draft-ietf-ccwg-bbr, section 5.3.1.3).

use lasthop_packet::Seq;

use crate::retransmission_queue::LostSegment;

//= draft-ietf-ccwg-bbr, section 5.3.1.3: BBRStartupFullLossCnt.
const RANGES: u32 = 6;

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
