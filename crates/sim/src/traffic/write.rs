//! An application's turn.

use lasthop_packet::Instant;

/// What an application does when it is its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// Octets that it writes now; 0 for none.
    pub(crate) octets: u32,
    pub(crate) next: Next,
}

/// When an application writes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    At(Instant),
    /// As soon as what it wrote now has left the first queue.
    WhenSent,
    Never,
}
