//! A write of an application.

use lasthop_packet::Instant;

/// A write of an application, and the time of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The octets to write now; 0 for none.
    pub octets: u32,
    /// The time of the next write.
    pub next: Next,
}

/// The time of an application's next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time.
    At(Instant),
    /// As soon as the octets of this write have left the first queue.
    WhenSent,
    /// Never: the application has written all its data.
    Never,
}
