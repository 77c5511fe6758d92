//! When segments that the window allows are sent.

use std::time::Duration;

use lasthop_packet::Instant;

use super::pacer::Pacer;

/// The longest time since the last segment for which the next super-packet may wait.
const RECENT: Duration = Duration::from_millis(1);

/// When segments that the window allows are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Departure {
    /// At once.
    AtOnce,
    /// At the pacing rate.
    Paced(Pacer),
    /// With others, in a super-packet.
    InSuperPackets(SuperPacket),
}

impl Departure {
    pub(super) const fn is_at_once(&self) -> bool {
        matches!(self, Self::AtOnce)
    }

    pub(super) const fn is_paced(&self) -> bool {
        matches!(self, Self::Paced(_))
    }

    pub(super) const fn is_in_super_packets(&self) -> bool {
        matches!(self, Self::InSuperPackets(_))
    }

    /// Whether no segment was sent that the next one may have to wait for.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        match self {
            Self::AtOnce => true,
            Self::Paced(_) => false,
            Self::InSuperPackets(super_packet) => super_packet.is_unused(),
        }
    }

    /// When a waiting segment may be sent.
    #[inline]
    pub(super) const fn timer(&self) -> Option<Instant> {
        if let Self::Paced(pacer) = self { pacer.timer() } else { None }
    }

    /// When the next segment may be sent.
    pub(super) const fn next(&self, now: Instant) -> Instant {
        if let Self::Paced(pacer) = self { pacer.next_departure() } else { now }
    }

    /// Octets of the congestion window that are unused because a super-packet waits for more.
    #[inline]
    pub(super) const fn held(&self) -> u32 {
        if let Self::InSuperPackets(super_packet) = self { super_packet.held() } else { 0 }
    }
}

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
