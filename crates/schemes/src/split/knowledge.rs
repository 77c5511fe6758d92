//! What the legs of a pair know of the ends, after packets may have gone past them: see `passed_by`.

use lasthop_packet::Instant;

/// Whether the legs know what the ends have said to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// All of it came here.
    Whole,
    /// Something may have gone past before `since`. Which ends, on the core side and the radio side,
    /// have shown since then that they stand where the legs do.
    InDoubt { since: Instant, in_step: [bool; 2] },
    /// Something has.
    Lacking,
}

impl Knowledge {
    /// A doubt that begins now.
    pub(super) const fn in_doubt(now: Instant) -> Self {
        Self::InDoubt { since: now, in_step: [false; 2] }
    }
}
