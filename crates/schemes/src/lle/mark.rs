//! The signals of two agents to each other over the hop, segment by segment.

use lasthop_packet::{Packet, Tcp, TcpFlags};

/// A few bits in the urgent pointer of a TCP segment whose URG bit is clear: the field has no
/// meaning then (RFC 9293, section 3.8.5) and takes no room. An agent removes a mark before any
/// other host sees the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u16);

/// The 12 bits that distinguish a mark from an urgent pointer.
const SIGN: u16 = 0x4c50;
const BITS: u16 = 0x000f;

impl Mark {
    /// No signal.
    pub(super) const NONE: Self = Self(0);
    /// On segments of the sender: there is an agent that can acknowledge data by link-layer
    /// reports.
    pub(super) const OFFER: Self = Self(1);
    /// On data: that agent will acknowledge this segment once the link layer has delivered it.
    pub(super) const PROMISE: Self = Self(2);
    /// On segments of the receiver: there is an agent that suppresses ACKs of promised data.
    pub(super) const ACCEPT: Self = Self(4);
    /// On data: the receiver's own ACK is requested. On an ACK: it only acknowledges new data; if
    /// that is known already, the ACK need not be forwarded.
    pub(super) const EVIDENCE: Self = Self(8);

    /// The union of both.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all signals of `other` are set.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any signal is set.
    pub(super) const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Whether a segment has room for a mark, and no unknown option: it may be a signature.
    pub(super) const fn fits(tcp: &Tcp) -> bool {
        !tcp.flags.has(TcpFlags::URG) && tcp.options.unknown.is_none()
    }

    /// The mark on a segment.
    pub(super) const fn from_segment(tcp: &Tcp) -> Self {
        if Self::fits(tcp) && tcp.urgent_pointer & !BITS == SIGN {
            Self(tcp.urgent_pointer & BITS)
        } else {
            Self::NONE
        }
    }

    /// Puts the mark on a segment and replaces an existing one, which a remote host wrote.
    pub(super) fn put(self, packet: &mut Packet) {
        let Some(tcp) = packet.tcp() else { return };
        if !Self::fits(tcp) || Self::from_segment(tcp) == self {
            return;
        }
        let pointer = if self.is_some() { SIGN | self.0 } else { 0 };
        if let Some(tcp) = packet.tcp_mut() {
            tcp.urgent_pointer = pointer;
        }
    }

    /// Removes the mark from a segment.
    pub(super) fn take(packet: &mut Packet) -> Self {
        let mark = packet.tcp().map_or(Self::NONE, Self::from_segment);
        if mark.is_some() {
            Self::NONE.put(packet);
        }
        mark
    }
}
