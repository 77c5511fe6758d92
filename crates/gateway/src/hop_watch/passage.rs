//! What of a connection's sequence space has gone by a place.
//!
//! Gaps are kept as one region with a number of missing octets. So with several gaps open it is not
//! known which of the copies that come is which, a retransmission of what was missing or of what had
//! passed; their numbers are right as soon as nothing is missing any more.

use lasthop_packet::{LARGEST_WINDOW, Seq};

use super::segment::Segment;

/// A longer gap is none: what lies in it went past us. No window that is in use is as large.
const LONGEST_GAP: i32 = 1 << 24;

/// Sequence space that has gone by a place: all up to `next`, but for what is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) next: Seq,
    /// Where `missing` octets are, if there are any.
    from: Seq,
    until: Seq,
    pub(super) missing: u32,
}

/// Octets of a segment, by what is known of them; the others go by for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Old {
    /// They were missing.
    pub(super) filled: u32,
    /// They have gone by before.
    pub(super) repeated: u32,
}

impl Passage {
    /// Nothing has gone by yet, and this is next.
    pub(super) const fn before(segment: Segment) -> Self {
        Self { next: segment.seq, from: segment.seq, until: segment.seq, missing: 0 }
    }

    /// A segment goes by. What of it is old, and whether there is a gap before it.
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

    /// Takes these octets from what is missing; how many they are.
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

    /// Everything up to here is known to have arrived.
    #[inline]
    pub(super) fn is_complete(&mut self, ack: Seq) {
        if self.missing != 0 && !ack.before(self.until) {
            self.missing = 0;
        }
    }
}
