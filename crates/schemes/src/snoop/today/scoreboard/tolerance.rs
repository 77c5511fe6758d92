//! The reordering tolerance: how many segments may overtake one on the hop before it counts as
//! lost.

/// Points that add one segment to the tolerance. One needless copy counts as many.
const NEEDLESS_A_SEGMENT: u32 = 4;

/// The maximum in segments: Snoop is of no use on a hop that reorders more.
const LARGEST: u32 = 64;

/// The number of segments that may overtake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// The configured number.
    segments: u32,
    /// Four points for each needless copy, less one for each that was needed.
    needless: u32,
}

impl Tolerance {
    /// A tolerance of `segments` before any copy.
    pub(super) fn new(segments: u32) -> Self {
        Self { segments: segments.min(LARGEST), needless: 0 }
    }

    /// The number of segments.
    pub(super) const fn segments(self) -> u32 {
        self.segments + self.needless / NEEDLESS_A_SEGMENT
    }

    /// Whether needless copies are more frequent than is accepted: the hop reorders.
    pub(super) const fn has_grown(self) -> bool {
        self.needless >= NEEDLESS_A_SEGMENT
    }

    /// Records whether a copy was needless. A hop that reorders makes most of them needless; but
    /// some are also caused by lost ACKs, if there are more holes than an option has blocks. So one
    /// in five is accepted.
    pub(super) fn judge(&mut self, was_needless: bool) {
        self.needless = if was_needless {
            (self.needless + 4).min(NEEDLESS_A_SEGMENT * LARGEST)
        } else {
            self.needless.saturating_sub(1)
        };
    }

    /// Corrects the record of a copy that was first judged as needed and is needless.
    pub(super) fn judge_again(&mut self) {
        self.judge(true);
        self.needless += 1;
    }
}
