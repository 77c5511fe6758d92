//! What an acknowledgment from the mobile host showed of the hop.

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
}
