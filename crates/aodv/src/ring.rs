//! An expanding ring search (6.4).

use lasthop_packet::Instant;

/// A search for a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// How far the next or latest request goes.
    pub(super) ttl: u8,
    /// Requests that went as far as `NET_DIAMETER`.
    pub(super) full: u32,
    /// Whether the request is still to be sent, because of the rate limit.
    pub(super) is_held: bool,
    /// When its request is to be sent, or has been waited for long enough.
    pub(super) due: Instant,
}
