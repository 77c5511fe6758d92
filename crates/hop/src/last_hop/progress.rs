//! The progress over the hop that an acknowledgment from the mobile host shows.

use std::time::Duration;

use lasthop_packet::Instant;

/// The progress that an acknowledgment shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Newly delivered octets.
    pub delivered: u64,
    /// Octets found lost since the previous acknowledgment.
    pub lost: u64,
    /// When the latest delivered segment left that was sent only once: it measures the round-trip
    /// time.
    pub sent: Option<Instant>,
    /// The delay of the acknowledgment on the way back above the minimum, where that is known.
    pub late: Duration,
}
