//! The two control messages: type and code on the wire stand here and nowhere else.

use std::net::IpAddr;

use lasthop_packet::{Packet, quote};
use lasthop_tcp::IcmpNotice;

/// ICMP type for experiments (RFC 4727, section 4).
const TYPE_V4: u8 = 253;
/// `ICMPv6` error message type for private experimentation (RFC 4443, section 2.1).
const TYPE_V6: u8 = 100;

/// What a node tells a TCP sender about one of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first transmission over the wireless link failed; the link layer goes on trying.
    Defer,
    /// The link layer has given the segment up.
    Retransmit,
}

impl Message {
    const fn code(self) -> u8 {
        match self {
            Self::Defer => 0,
            Self::Retransmit => 1,
        }
    }

    /// The message's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Defer => "ICMP-DEFER",
            Self::Retransmit => "ICMP-RETRANSMIT",
        }
    }

    /// The message about a segment, from `reporter` to the segment's sender; `None` where no ICMP
    /// error may be sent.
    pub fn about(self, segment: &Packet, reporter: IpAddr) -> Option<Packet> {
        let is_v6 = segment.ip().source.is_ipv6();
        // A node without an address of that version speaks for the destination, beyond which nobody
        // needs the message's origin.
        let reporter = if reporter.is_ipv6() == is_v6 { reporter } else { segment.ip().destination };
        quote::error_about(segment, reporter, if is_v6 { TYPE_V6 } else { TYPE_V4 }, self.code())
    }

    /// Which message a notice is, if it is one of them.
    pub const fn of(notice: &IcmpNotice) -> Option<Self> {
        let expected = if notice.is_v6 { TYPE_V6 } else { TYPE_V4 };
        match (notice.kind == expected, notice.code) {
            (true, 0) => Some(Self::Defer),
            (true, 1) => Some(Self::Retransmit),
            _ => None,
        }
    }
}
