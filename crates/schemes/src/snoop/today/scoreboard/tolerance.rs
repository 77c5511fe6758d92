//! How far segments may overtake each other on the hop, before one that is overtaken is lost.

/// This many points add one segment to the tolerance. One needless copy is worth as many.
const NEEDLESS_A_SEGMENT: u32 = 4;

/// The most, in segments: a hop that reorders more is none that this can be used on.
const LARGEST: u32 = 64;

/// Segments that may overtake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// On a hop where copies are needed.
    segments: u32,
    /// Four points for each needless copy, less one for each that was needed.
    needless: u32,
}

impl Tolerance {
    /// So many segments at first.
    pub(super) fn new(segments: u32) -> Self {
        Self { segments: segments.min(LARGEST), needless: 0 }
    }

    /// In segments.
    pub(super) const fn segments(self) -> u32 {
        self.segments + self.needless / NEEDLESS_A_SEGMENT
    }

    /// Whether copies are needless more often than is borne: the hop reorders.
    pub(super) const fn has_grown(self) -> bool {
        self.needless >= NEEDLESS_A_SEGMENT
    }

    /// A copy turned out to be needless, or needed. A hop that reorders makes most of them
    /// needless; but also ACKs that are lost with all they say of more holes than an option has
    /// blocks for make some. So one in five is borne.
    pub(super) fn judge(&mut self, was_needless: bool) {
        self.needless = if was_needless {
            (self.needless + 4).min(NEEDLESS_A_SEGMENT * LARGEST)
        } else {
            self.needless.saturating_sub(1)
        };
    }

    /// A copy that was taken for needed turned out to be needless: takes that back, too.
    pub(super) fn judge_anew(&mut self) {
        self.judge(true);
        self.needless += 1;
    }
}
