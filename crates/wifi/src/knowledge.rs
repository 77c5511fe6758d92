//! What a station knows of its neighbours: whether they know options in frames.

use lasthop_packet::Instant;

/// What a station knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Knowledge {
    /// Nothing: the next frame with options tries.
    #[default]
    Untried,
    /// It has acknowledged a frame with options.
    Knows,
    /// It has not, and is not tried before this time.
    FallBack(Instant),
}
