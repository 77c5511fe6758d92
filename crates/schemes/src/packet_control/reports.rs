//! The mobile host's reports above a hole, in constant memory.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

/// The maximum number of ranges. A receiver reports three in an ACK with timestamps (RFC 2018,
/// section 3); if segments overtake each other it soon has more.
const BLOCKS: usize = 8;

/// Ranges of data that the mobile host has above its acknowledgment; disjoint, in no order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reports {
    len: u8,
    blocks: [(Seq, Seq); BLOCKS],
}

/// There is no room for another range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Reports {
    /// The ranges.
    pub(super) fn as_slice(&self) -> &[(Seq, Seq)] {
        self.blocks.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether there are no ranges.
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Octets in all ranges.
    pub(super) fn octets(&self) -> u64 {
        self.as_slice().iter().map(|(left, right)| u64::from(*right - *left)).sum()
    }

    /// Adds a range, merged with those that it touches.
    pub(super) fn add(&mut self, left: Seq, right: Seq) -> Result<(), Full> {
        let mut all = (left, right);
        self.retain(|block| {
            let touches = !block.0.after(all.1) && !block.1.before(all.0);
            if touches {
                all = (all.0.earlier(block.0), all.1.later(block.1));
            }
            !touches
        });
        let place = self.blocks.get_mut(usize::from(self.len)).ok_or(Full)?;
        *place = all;
        self.len += 1;
        Ok(())
    }

    /// Removes acknowledged ranges.
    pub(super) fn acknowledge(&mut self, ack: Seq) {
        self.retain(|block| block.1.after(ack));
    }

    fn retain(&mut self, mut keeps: impl FnMut(&(Seq, Seq)) -> bool) {
        let mut kept = 0;
        for index in 0..usize::from(self.len).min(BLOCKS) {
            let block = self.blocks[index];
            if keeps(&block) {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.len = kept as u8;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let mut reports = Reports::default();
        for (left, right) in [(10, 20), (40, 50), (60, 70), (20, 40)] {
            assert_eq!(reports.add(Seq(left), Seq(right)), Ok(()));
        }
        assert_eq!((reports.as_slice().len(), reports.octets()), (2, 50));
        reports.acknowledge(Seq(50));
        assert_eq!(reports.as_slice(), [(Seq(60), Seq(70))]);
    }

    proptest! {
        #[test]
        fn reports_match_a_list_of_octets(
            ranges in proptest::collection::vec((0_u32..200, 1_u32..30), 0..30),
            ack in 0_u32..100,
        ) {
            let base = u32::MAX - 60;
            let mut reports = Reports::default();
            let mut octets = [false; 250];
            for (left, len) in ranges {
                let before = reports;
                if reports.add(Seq(base.wrapping_add(left)), Seq(base.wrapping_add(left + len))).is_err() {
                    prop_assert_eq!(before.as_slice().len(), BLOCKS);
                    break;
                }
                octets[left as usize..(left + len) as usize].fill(true);
            }
            reports.acknowledge(Seq(base.wrapping_add(ack)));
            for (at, is_there) in octets.iter().enumerate().skip(ack as usize) {
                let seq = Seq(base.wrapping_add(at as u32));
                let is_reported = reports.as_slice().iter().any(|(left, right)| seq.within(*left, *right));
                prop_assert_eq!(is_reported, *is_there, "{}", at);
            }
        }
    }
}
