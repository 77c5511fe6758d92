//! What moves with a flow of how its losses are detected. Each way reads what the other has written.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

/// What moves with a flow of how its losses are detected.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SavedRecovery {
    /// What is to be done with the next duplicate ACK.
    pub(super) duplicates: Duplicates,
    /// Cached packets from here on are counted as those that elicit duplicate ACKs.
    pub(super) count_from: Seq,
    /// The receiver sends SACK blocks.
    pub(super) sack_seen: bool,
}

/// What is to be done with duplicate ACKs (snoop.cc, `expDupacks_` and `thresh`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Duplicates {
    /// None is expected; so many passed since the last new ACK, or since the last that were
    /// expected.
    Passed(u32),
    /// The repair is under way; so many more are elicited by packets that were on their way
    /// already.
    Expected(u32),
    /// Fewer packets were cached than duplicate ACKs came: the count is not to be trusted.
    Miscounted,
}

impl Duplicates {
    /// The same where it comes from elsewhere: as many as packets can elicit.
    #[must_use]
    pub fn bounded(self) -> Self {
        const MOST: u32 = 1 << 16;
        match self {
            Self::Passed(count) => Self::Passed(count.min(MOST)),
            Self::Expected(count) => Self::Expected(count.min(MOST)),
            Self::Miscounted => Self::Miscounted,
        }
    }
}

impl Default for Duplicates {
    fn default() -> Self {
        Self::Passed(0)
    }
}
