//! What two agents tell each other over the hop, segment by segment.

use lasthop_packet::{Packet, Tcp, TcpFlags};

/// A few bits in the urgent pointer of a TCP segment whose URG bit is clear: a field that says
/// nothing then (RFC 9293, section 3.8.5) and takes no room. An agent takes a mark off before
/// anybody else sees the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u16);

/// What makes a mark of an urgent pointer; 12 bits.
const SIGN: u16 = 0x4c50;
const BITS: u16 = 0x000f;

impl Mark {
    /// Nothing said.
    pub(super) const NONE: Self = Self(0);
    /// On what the sender sends: there is an agent that could acknowledge it from what the link
    /// layer says.
    pub(super) const OFFER: Self = Self(1);
    /// On data: that agent will acknowledge this segment once the link layer has delivered it.
    pub(super) const PROMISE: Self = Self(2);
    /// On what the receiver sends: there is an agent that keeps ACKs back for which it has a
    /// promise.
    pub(super) const ACCEPT: Self = Self(4);
    /// On data: the receiver's own ACK is wanted. On an ACK: it acknowledges new data and says
    /// nothing else; where that is known it need not go on.
    pub(super) const EVIDENCE: Self = Self(8);

    /// Both.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is said.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether anything is said.
    pub(super) const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Whether a segment has room for a mark, and no option that is not understood: it may be a signature.
    pub(super) const fn fits(tcp: &Tcp) -> bool {
        !tcp.flags.has(TcpFlags::URG) && tcp.options.unknown.is_none()
    }

    /// What a segment says.
    pub(super) const fn of(tcp: &Tcp) -> Self {
        if Self::fits(tcp) && tcp.urgent_pointer & !BITS == SIGN {
            Self(tcp.urgent_pointer & BITS)
        } else {
            Self::NONE
        }
    }

    /// Puts it on a segment, in place of one that is there: what a host far away wrote there is not
    /// ours.
    pub(super) fn put(self, packet: &mut Packet) {
        let Some(tcp) = packet.tcp() else { return };
        if !Self::fits(tcp) || Self::of(tcp) == self {
            return;
        }
        let pointer = if self.is_some() { SIGN | self.0 } else { 0 };
        if let Some(tcp) = packet.tcp_mut() {
            tcp.urgent_pointer = pointer;
        }
    }

    /// Takes it off a segment.
    pub(super) fn take(packet: &mut Packet) -> Self {
        let mark = packet.tcp().map_or(Self::NONE, Self::of);
        if mark.is_some() {
            Self::NONE.put(packet);
        }
        mark
    }
}
