//! The exported state of a flow's loss detection. Each method reads the state of the other.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

/// The exported state of a flow's loss detection.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SavedRecovery {
    /// The action for the next duplicate ACK.
    pub(super) duplicates: Duplicates,
    /// The first cached packet to count among those that elicit duplicate ACKs.
    pub(super) count_from: Seq,
    /// Whether the receiver sends SACK blocks.
    pub(super) sack_seen: bool,
}

/// The handling of duplicate ACKs (snoop.cc, `expDupacks_` and `thresh`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Duplicates {
    /// No duplicate is expected; this number has passed since the last new ACK, or since the last
    /// expected one.
    Passed(u32),
    /// The repair is in progress; packets already in flight elicit this number of further
    /// duplicates.
    Expected(u32),
    /// Fewer packets were cached than duplicate ACKs arrived: the count is unreliable.
    Miscounted,
}

impl Duplicates {
    /// Imported state, limited to the number that packets can elicit.
    #[must_use]
    pub fn bounded(self) -> Self {
        const MAX: u32 = 1 << 16;
        match self {
            Self::Passed(count) => Self::Passed(count.min(MAX)),
            Self::Expected(count) => Self::Expected(count.min(MAX)),
            Self::Miscounted => Self::Miscounted,
        }
    }
}

impl Default for Duplicates {
    fn default() -> Self {
        Self::Passed(0)
    }
}
