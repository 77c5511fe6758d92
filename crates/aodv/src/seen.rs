//! Requests that a node has handled.

use lasthop_packet::Instant;

/// The record of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) until: Instant,
    /// How often it was handled again because it came over a better route.
    pub(super) better: u8,
}
