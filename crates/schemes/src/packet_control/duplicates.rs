//! Duplicate ACKs, counted.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::thinning::{SENDERS_THRESHOLD, leaves_at};

/// The duplicates of the last new ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Duplicates {
    /// How many came (`numOfLastDupAck`).
    pub(super) received: u32,
    /// How many the sender was sent (`numOfDupAckSent`).
    pub(super) sent: u32,
    /// The sender knows that something is missing, and is in recovery until this is acknowledged.
    pub(super) recovery: Option<Seq>,
}

impl Duplicates {
    /// Counts one, and says whether it passes.
    pub(super) fn count(&mut self, threshold: u32) -> bool {
        self.received = self.received.saturating_add(1);
        let passes = self.received >= leaves_at(self.sent.saturating_add(1), threshold);
        self.sent = self.sent.saturating_add(u32::from(passes));
        passes
    }

    /// How many more the sender is to see, that it sees as many as there were, up to those that it
    /// needs.
    pub(super) const fn owed(&self) -> u32 {
        let due = if self.received < SENDERS_THRESHOLD { self.received } else { SENDERS_THRESHOLD };
        due.saturating_sub(self.sent)
    }
}
