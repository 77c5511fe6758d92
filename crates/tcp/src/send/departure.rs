//! When segments that the window allows are sent.

use lasthop_packet::Instant;

use super::pacer::Pacer;
use super::super_packet::SuperPacket;

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
