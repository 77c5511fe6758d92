//! The current super-packet.

use std::time::Duration;

use lasthop_packet::Instant;

/// The longest time since the last segment for which the next super-packet may wait.
const RECENT: Duration = Duration::from_millis(1);

/// Segments that are sent at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SuperPacket {
    /// When a segment was last sent.
    last_sent: Option<Instant>,
    /// Its remaining segments.
    left: u32,
    /// Octets allowed by the congestion window that wait for the next one.
    held: u32,
}

impl SuperPacket {
    pub(super) const fn is_unused(self) -> bool {
        self.last_sent.is_none()
    }

    /// Whether the next segment belongs to it.
    pub(super) fn includes_next(&self, now: Instant) -> bool {
        self.left > 0 && self.last_sent == Some(now)
    }

    /// Whether a segment was sent in the last millisecond.
    pub(super) fn is_recent(&self, now: Instant) -> bool {
        self.last_sent.is_some_and(|sent| now.since(sent) <= RECENT)
    }

    /// A super-packet of `segments` begins.
    pub(super) const fn begin(&mut self, segments: u32) {
        (self.left, self.held) = (segments, 0);
    }

    /// The next one waits, and `octets` of the congestion window remain unused.
    pub(super) const fn hold(&mut self, octets: u32) {
        self.held = octets;
    }

    /// Octets of the congestion window that are unused only for that reason.
    pub(super) const fn held(&self) -> u32 {
        self.held
    }

    /// A segment is sent.
    pub(super) const fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
        self.left = self.left.saturating_sub(1);
    }
}
