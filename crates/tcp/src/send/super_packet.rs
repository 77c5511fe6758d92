//! The super-packet that is leaving.

use std::time::Duration;

use lasthop_packet::Instant;

/// What left longer ago says nothing of what comes next.
const RECENT: Duration = Duration::from_millis(1);

/// Segments that leave at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SuperPacket {
    /// When a segment left last.
    last_sent: Option<Instant>,
    /// How many more segments it has.
    left: u32,
    /// Octets that the congestion window has room for, and that wait for the next one.
    held: u32,
}

impl SuperPacket {
    pub(super) const fn is_unused(self) -> bool {
        self.last_sent.is_none()
    }

    /// Whether the next segment belongs to it.
    pub(super) fn goes_on(&self, now: Instant) -> bool {
        self.left > 0 && self.last_sent == Some(now)
    }

    /// Whether a segment left in the last millisecond.
    pub(super) fn is_recent(&self, now: Instant) -> bool {
        self.last_sent.is_some_and(|sent| now.since(sent) <= RECENT)
    }

    /// A super-packet of `segments` begins.
    pub(super) const fn begin(&mut self, segments: u32) {
        (self.left, self.held) = (segments, 0);
    }

    /// The next one waits, and `octets` of the congestion window stay unused.
    pub(super) const fn hold(&mut self, octets: u32) {
        self.held = octets;
    }

    /// Octets of the congestion window that are not in use for that reason alone.
    pub(super) const fn held(&self) -> u32 {
        self.held
    }

    /// A segment leaves.
    pub(super) const fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
        self.left = self.left.saturating_sub(1);
    }
}
