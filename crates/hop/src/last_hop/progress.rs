//! What an acknowledgment from the mobile host showed of the hop.

use std::time::Duration;

use lasthop_packet::Instant;

/// What an acknowledgment showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Octets delivered that were not known to be.
    pub delivered: u64,
    /// Octets found lost since the acknowledgment before.
    pub lost: u64,
    /// When the latest of them left, of those that left once: it measures the round-trip time.
    pub sent: Option<Instant>,
    /// How much longer than the least it took on the way back, where that is known.
    pub late: Duration,
}
