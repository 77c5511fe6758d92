//! Headers as plain structs, after parsing and before emission. Field names are the RFCs'.

mod ecn;
mod options;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::seq::Seq;

pub use ecn::Ecn;
pub(crate) use options::Layout;
pub use options::{SackBlocks, TcpOptions, Timestamps};

/// The IP header, version 4 (RFC 791) or 6 (RFC 8200) according to the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub source: IpAddr,
    /// Destination address; of the same version as `source`.
    pub destination: IpAddr,
    /// Time to live, or hop limit.
    pub hop_limit: u8,
    /// Differentiated services and ECN octet; the latter alone is [`Ip::ecn`].
    pub traffic_class: u8,
    /// IPv4 identification; 0 for IPv6.
    pub identification: u16,
}

impl Ip {
    /// A header between two addresses with a hop limit of 64.
    #[inline]
    pub const fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, destination, hop_limit: 64, traffic_class: 0, identification: 0 }
    }

    /// Octets of the header without options: 20 or 40.
    #[inline]
    pub const fn len(&self) -> usize {
        if self.source.is_ipv4() { 20 } else { 40 }
    }

    /// Always false: a header has octets.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The destination; 0.0.0.0 if, contrary to the rule, it is an IPv6 address.
    pub(crate) const fn destination_v4(&self) -> Ipv4Addr {
        match self.destination {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        }
    }

    /// The destination; `::` if, contrary to the rule, it is an IPv4 address.
    pub(crate) const fn destination_v6(&self) -> Ipv6Addr {
        match self.destination {
            IpAddr::V6(address) => address,
            IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
        }
    }
}

/// The TCP control bits (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A range of sequence numbers, `[left, right)`.
type Block = (Seq, Seq);

/// The TCP header (RFC 9293, section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first octet, or of the SYN.
    pub seq: Seq,
    /// Next sequence number expected; significant with the ACK bit.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Unscaled window, as on the wire.
    pub window: u16,
    /// Urgent pointer.
    pub urgent_pointer: u16,
    /// Options.
    pub options: TcpOptions,
}

impl Tcp {
    /// Octets of the header with its options.
    #[inline]
    pub fn len(&self) -> usize {
        20 + self.options.len()
    }

    /// Always false: a header has octets.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The reports of the SACK blocks: data received twice, if the first block reports that (RFC
    /// 2883, section 4: it lies below the acknowledgment number, or within the second block), and
    /// the blocks of data above a hole.
    pub fn sack_reports(&self) -> (Option<Block>, &[Block]) {
        let blocks = self.options.sack.as_slice();
        let Some((first, rest)) = blocks.split_first() else { return (None, blocks) };
        let is_within = |outer: &(Seq, Seq)| !first.0.before(outer.0) && !first.1.after(outer.1);
        let is_duplicate = first.0.before(self.ack) || rest.first().is_some_and(is_within);
        if is_duplicate { (Some(*first), rest) } else { (None, blocks) }
    }
}

/// The UDP header (RFC 768); the length follows from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// The first eight octets of an ICMP (RFC 792) or `ICMPv6` (RFC 4443) message; the rest is the
/// payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// The four octets after the checksum.
    pub rest_of_header: [u8; 4],
}

/// Whether messages of this type are queries and answers, not errors: those that IANA assigned for
/// ICMP, every type from 128 for `ICMPv6` (RFC 4443, section 2.1). An unassigned ICMP type may be a
/// scheme's own error message.
pub(crate) fn is_informational(kind: u8, is_v4: bool) -> bool {
    if is_v4 { matches!(kind, 0 | 8..=10 | 13..=18 | 30 | 37 | 38 | 42 | 43) } else { kind >= 128 }
}

/// The protocol number of ICMP (RFC 792).
pub const PROTOCOL_ICMP: u8 = 1;
/// The protocol number of TCP (RFC 9293).
pub const PROTOCOL_TCP: u8 = 6;
/// The protocol number of UDP (RFC 768).
pub const PROTOCOL_UDP: u8 = 17;
/// The next-header number of `ICMPv6` (RFC 4443).
pub const PROTOCOL_ICMPV6: u8 = 58;
