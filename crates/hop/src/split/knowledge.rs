//! The state of a pair's legs after packets may have bypassed them: see `passed_by`.

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

/// Whether the legs have seen all that the ends have exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// All packets came here.
    Complete,
    /// Packets may have bypassed the legs before `since`. `matches`: whether each end, on the core
    /// side and the radio side, has since then shown the same numbers as the legs.
    Uncertain { since: Instant, matches: [bool; 2] },
    /// Packets have bypassed the legs.
    Incomplete,
}

impl Knowledge {
    /// An uncertainty that begins now.
    pub(super) const fn uncertain(now: Instant) -> Self {
        Self::Uncertain { since: now, matches: [false; 2] }
    }

    /// The value to export.
    pub(super) const fn save(self) -> SavedKnowledge {
        match self {
            Self::Complete => SavedKnowledge::Complete,
            Self::Uncertain { .. } => SavedKnowledge::Uncertain,
            Self::Incomplete => SavedKnowledge::Incomplete,
        }
    }
}

/// A [`Knowledge`] as a value. An uncertain one is restored as one that has just become uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SavedKnowledge {
    Complete,
    Uncertain,
    Incomplete,
}

impl SavedKnowledge {
    pub(super) const fn restore(self, now: Instant) -> Knowledge {
        match self {
            Self::Complete => Knowledge::Complete,
            Self::Uncertain => Knowledge::uncertain(now),
            Self::Incomplete => Knowledge::Incomplete,
        }
    }
}
