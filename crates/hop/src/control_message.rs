//! Control messages by which a node reports link-layer events to a TCP sender. Only this module
//! knows their types and codes on the wire.

use std::net::IpAddr;

use lasthop_agent::counter::CONTROL_MESSAGES;
use lasthop_agent::{Context, Report, Side};
use lasthop_packet::{Packet, quote};
use lasthop_tcp::IcmpNotice;

/// ICMP type for experiments (RFC 4727, section 4).
const TYPE_V4: u8 = 253;
/// `ICMPv6` error message type for private experimentation (RFC 4443, section 2.1).
const TYPE_V6: u8 = 100;

/// A report to a TCP sender about one of its segments: an ICMP error message that quotes the IP
/// header and the first eight octets after it (RFC 792).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlMessage {
    /// The first transmission over the wireless link failed; the link layer continues to retry
    /// (Simple and Refined ICMP).
    Defer,
    /// The link layer has given up the segment (Refined ICMP).
    Retransmit,
    /// One attempt to deliver the segment failed (EBSN).
    BadState,
}

impl ControlMessage {
    const ALL: [Self; 3] = [Self::Defer, Self::Retransmit, Self::BadState];

    const fn code(self) -> u8 {
        match self {
            Self::Defer => 0,
            Self::Retransmit => 1,
            Self::BadState => 2,
        }
    }

    /// The message's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Defer => "ICMP-DEFER",
            Self::Retransmit => "ICMP-RETRANSMIT",
            Self::BadState => "EBSN",
        }
    }

    /// The message about a segment, from `reporter` to the segment's sender; `None` where no ICMP
    /// error may be sent.
    pub fn about(self, segment: &Packet, reporter: IpAddr) -> Option<Packet> {
        let is_v6 = segment.ip().source.is_ipv6();
        // A node without an address of that IP version uses the destination's address as the
        // message's source. Senders do not look at it.
        let reporter = if reporter.is_ipv6() == is_v6 { reporter } else { segment.ip().destination };
        quote::error_about(segment, reporter, if is_v6 { TYPE_V6 } else { TYPE_V4 }, self.code())
    }

    /// The message that a notice carries, if it is one of these.
    pub fn from_notice(notice: &IcmpNotice) -> Option<Self> {
        let expected = if notice.is_v6 { TYPE_V6 } else { TYPE_V4 };
        Self::ALL.into_iter().find(|message| notice.kind == expected && notice.code == message.code())
    }

    /// Sends the message to the sender of a TCP segment with data. Other packets cause no message.
    pub fn send_about(self, segment: &Packet, reporter: IpAddr, cx: &mut Context<'_>) {
        let Some(tcp) = segment.tcp().filter(|_| !segment.payload().is_empty()) else { return };
        if let Some(message) = self.about(segment, reporter) {
            cx.report(Report::new(&CONTROL_MESSAGES).at(tcp.seq).which(self.name()));
            cx.send(Side::Core, message);
        }
    }
}
