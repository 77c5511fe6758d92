//! The count of duplicate ACKs.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::thinning::{SENDERS_THRESHOLD, leaves_at};

/// The duplicates of the last new ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Duplicates {
    /// The number received (`numOfLastDupAck`).
    pub(super) received: u32,
    /// The number sent to the sender (`numOfDupAckSent`).
    pub(super) sent: u32,
    /// The end of the sender's recovery, if it knows that data is missing.
    pub(super) recovery: Option<Seq>,
}

impl Duplicates {
    /// Counts a duplicate. Returns whether it passes.
    pub(super) fn count(&mut self, threshold: u32) -> bool {
        self.received = self.received.saturating_add(1);
        let passes = self.received >= leaves_at(self.sent.saturating_add(1), threshold);
        self.sent = self.sent.saturating_add(u32::from(passes));
        passes
    }

    /// The number of duplicates still to send, so that the sender gets as many as were received, up
    /// to the number that it needs.
    pub(super) const fn owed(&self) -> u32 {
        let due = if self.received < SENDERS_THRESHOLD { self.received } else { SENDERS_THRESHOLD };
        due.saturating_sub(self.sent)
    }
}
