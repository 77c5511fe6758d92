//! Ranges that the link layer delivered above a hole.

use lasthop_packet::{SackBlocks, Seq};
use serde::{Deserialize, Serialize};

/// At most eight ranges of sequence numbers, the latest at the end: a hole is short-lived, and the
/// receiver's own ACKs report ranges that are forgotten.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ranges {
    len: u8,
    ranges: [(Seq, Seq); 8],
}

impl Ranges {
    /// An empty set.
    pub(super) const EMPTY: Self = Self { len: 0, ranges: [(Seq(0), Seq(0)); 8] };

    /// The imported ranges, with a valid length.
    pub(super) fn bounded(self) -> Self {
        Self { len: self.len.min(8), ..self }
    }

    /// Adds `[left, right)`, merged with adjacent ranges; forgotten if there is no room. Returns
    /// the merged range.
    pub(super) fn add(&mut self, left: Seq, right: Seq) -> (Seq, Seq) {
        let (mut left, mut right) = (left, right);
        let mut at = 0;
        while at < usize::from(self.len) {
            let (other_left, other_right) = self.ranges[at];
            if !other_left.after(right) && !left.after(other_right) {
                (left, right) = (left.earlier(other_left), right.later(other_right));
                self.remove(at);
            } else {
                at += 1;
            }
        }
        if let Some(slot) = self.ranges.get_mut(usize::from(self.len)) {
            *slot = (left, right);
            self.len += 1;
        }
        (left, right)
    }

    /// The ranges as SACK blocks, the `latest` first (RFC 2018, section 4): as many as fit an
    /// option.
    pub(super) fn blocks(&self, latest: Option<(Seq, Seq)>) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let others = self.ranges[..usize::from(self.len)].iter().rev().copied();
        for (left, right) in latest.into_iter().chain(others.filter(|other| Some(*other) != latest)) {
            blocks.push(left, right);
        }
        blocks
    }

    /// Removes the ranges that start at or below `from`. Returns the number up to which data is
    /// contiguous now.
    pub(super) fn absorb(&mut self, from: Seq) -> Seq {
        let mut to = from;
        let mut at = 0;
        while at < usize::from(self.len) {
            let (left, right) = self.ranges[at];
            if left.after(to) {
                at += 1;
            } else {
                to = to.later(right);
                self.remove(at);
                at = 0;
            }
        }
        to
    }

    fn remove(&mut self, at: usize) {
        self.ranges[at..usize::from(self.len)].rotate_left(1);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_hole_merges_with_the_range_above_across_the_wrap() {
        let start = Seq(u32::MAX - 150);
        let mut ranges = Ranges::default();
        ranges.add(start + 300, start + 400);
        ranges.add(start + 100, start + 200);
        assert_eq!(ranges.absorb(start), start);
        assert_eq!(ranges.absorb(start + 100), start + 200);
        ranges.add(start + 200, start + 300);
        assert_eq!(ranges.absorb(start + 200), start + 400);
        assert_eq!(ranges.len, 0);
    }

    #[test]
    fn ranges_without_room_are_forgotten() {
        let mut ranges = Ranges::default();
        for n in 1..20 {
            ranges.add(Seq(n * 100), Seq(n * 100 + 50));
        }
        assert_eq!(ranges.len, 8);
    }
}
