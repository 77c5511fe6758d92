//! What is remembered of how much of the window was in use.

use lasthop_packet::{Instant, Seq};

/// What is remembered of the use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validation {
    /// When a segment left last.
    pub(super) last_sent: Option<Instant>,
    /// Whether the window was full in the round trip that ends at `round_end`; if not, `most` is how
    /// many octets were outstanding at most.
    pub(super) was_full: bool,
    pub(super) most: u32,
    pub(super) round_end: Seq,
}
