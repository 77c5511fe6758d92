//! What the legs of a pair know of the ends, after packets may have gone past them: see `passed_by`.

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

/// Whether the legs know what the ends have said to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// All of it came here.
    Whole,
    /// Something may have gone past before `since`. Which ends, on the core side and the radio side,
    /// have shown since then that they stand where the legs do.
    Uncertain { since: Instant, in_step: [bool; 2] },
    /// Something has.
    Lacking,
}

impl Knowledge {
    /// A doubt that begins now.
    pub(super) const fn uncertain(now: Instant) -> Self {
        Self::Uncertain { since: now, in_step: [false; 2] }
    }

    /// As a value.
    pub(super) const fn save(self) -> SavedKnowledge {
        match self {
            Self::Whole => SavedKnowledge::Whole,
            Self::Uncertain { .. } => SavedKnowledge::Uncertain,
            Self::Lacking => SavedKnowledge::Lacking,
        }
    }
}

/// A [`Knowledge`] as a value. One in doubt is restored as one that has just come into doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SavedKnowledge {
    Whole,
    Uncertain,
    Lacking,
}

impl SavedKnowledge {
    pub(super) const fn restore(self, now: Instant) -> Knowledge {
        match self {
            Self::Whole => Knowledge::Whole,
            Self::Uncertain => Knowledge::uncertain(now),
            Self::Lacking => Knowledge::Lacking,
        }
    }
}
