//! Which TCP connections a link resets or refuses.

use std::time::Duration;

/// The TCP connections that a link cuts. A connection is reset at both ends; one that opens is refused, as
/// by a closed port. Segments in fragments, behind IP options or behind IPv6 extension headers pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// None.
    #[default]
    None,
    /// Those that stand at this moment. What held before holds on.
    Standing,
    /// Those that open while this holds; those that stand pass.
    Opening,
    /// Each, this long after its first segment has been sent into the link.
    AfterTime(Duration),
    /// Each, once one of its ends has received this many octets of payload in order. The segment that
    /// completes them arrives.
    AfterOctets(u64),
}
