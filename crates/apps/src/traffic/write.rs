//! An application's turn.

use lasthop_packet::Instant;

/// What an application does when it is its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Octets that it writes now; 0 for none.
    pub octets: u32,
    /// When it writes again.
    pub next: Next,
}

/// When an application writes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Then.
    At(Instant),
    /// As soon as what it wrote now has left the first queue.
    WhenSent,
    /// It has nothing more to write.
    Never,
}
