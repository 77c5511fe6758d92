//! An expanding ring search (6.4).

use lasthop_packet::Instant;

/// A search for a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The TTL of the next or latest request.
    pub(super) ttl: u8,
    /// Requests with a TTL of `NET_DIAMETER`.
    pub(super) full: u32,
    /// Whether the request is still to be sent, because of the rate limit.
    pub(super) is_held: bool,
    /// When the request is sent, or its waiting time ends.
    pub(super) due: Instant,
}
