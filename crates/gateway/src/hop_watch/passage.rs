//! The part of a connection's sequence space that has passed a point.
//!
//! Gaps are stored as one region with a number of missing octets. With several open gaps, it is
//! therefore unknown whether a copy in the region fills a gap or repeats octets that had passed;
//! the sums are correct once no octets are missing.

use lasthop_packet::{LARGEST_WINDOW, Seq};

use super::segment::Segment;

/// The maximum length of a gap, above any window in use. The octets of a longer one bypassed the
/// gateway.
const LONGEST_GAP: i32 = 1 << 24;

/// The sequence space that has passed a point: all octets up to `next`, except for the missing
/// ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) next: Seq,
    /// The region that contains the missing octets, if there are any.
    from: Seq,
    until: Seq,
    pub(super) missing: u32,
}

/// The octets of a segment below `next`; the other octets pass for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Old {
    /// Octets that were missing.
    pub(super) filled: u32,
    /// Octets that have passed before.
    pub(super) repeated: u32,
}

impl Passage {
    /// The state before the first segment.
    pub(super) const fn before(segment: Segment) -> Self {
        Self { next: segment.seq, from: segment.seq, until: segment.seq, missing: 0 }
    }

    /// Records a segment. Returns its old octets, and whether there is a new gap before it.
    #[inline]
    pub(super) fn pass(&mut self, segment: Segment) -> (Old, bool) {
        if segment.seq == self.next {
            self.next = segment.end();
            return (Old::default(), false);
        }
        self.pass_out_of_order(segment)
    }

    fn pass_out_of_order(&mut self, segment: Segment) -> (Old, bool) {
        let Segment { seq, len, .. } = segment;
        let (ahead, end) = (seq.offset_from(self.next), segment.end());
        if !(-LARGEST_WINDOW.cast_signed()..=LONGEST_GAP).contains(&ahead) {
            *self = Self::before(segment);
            self.next = end;
            return (Old::default(), false);
        }
        if ahead > 0 {
            self.from = if self.missing == 0 { self.next } else { self.from };
            self.missing = self.missing.saturating_add(ahead.unsigned_abs());
            (self.until, self.next) = (seq, end);
            return (Old::default(), true);
        }
        let old_end = end.earlier(self.next);
        let old = old_end - seq;
        self.next = self.next.later(end);
        let filled = self.fill(seq, old_end).min(len);
        (Old { filled, repeated: old - filled }, false)
    }

    /// Removes these octets from the missing ones. Returns how many of them were missing.
    fn fill(&mut self, seq: Seq, end: Seq) -> u32 {
        let (left, right) = (seq.later(self.from), end.earlier(self.until));
        if self.missing == 0 || !left.before(right) {
            return 0;
        }
        let filled = (right - left).min(self.missing);
        self.missing -= filled;
        if left == self.from {
            self.from = right;
        } else if right == self.until {
            self.until = left;
        }
        filled
    }

    /// Records that all octets up to this acknowledgment have arrived.
    #[inline]
    pub(super) fn is_complete(&mut self, ack: Seq) {
        if self.missing != 0 && !ack.before(self.until) {
            self.missing = 0;
        }
    }
}
