//! Internet checksums (RFC 1071), and those of the transports with their pseudo headers.

use std::net::IpAddr;

use bytes::Bytes;
use etherparse::checksum::Sum16BitWords;

use super::emit::{destination_v4, destination_v6};
use super::{PROTOCOL_ICMP, PROTOCOL_TCP, PROTOCOL_UDP, parse};
use crate::header::Ip;
use crate::packet::Transport;

/// Whether the IPv4 header checksum and the transport checksum of this packet are right, as its receiver would check them. A UDP
/// checksum of zero means "none" over IPv4 (RFC 768) and is wrong over IPv6 (RFC 8200, section 8.1). Of an opaque packet only
/// the IPv4 header is checked. Octets that are no IP packet are not right.
pub fn checksums_are_right(octets: &[u8]) -> bool {
    let Ok(packet) = parse(Bytes::copy_from_slice(octets)) else {
        return false;
    };
    let is_v4 = packet.ip().source.is_ipv4();
    let header_len = if is_v4 { usize::from(octets[0] & 0x0f) * 4 } else { 40 };
    let (header, body) = octets[..packet.len()].split_at(header_len);
    let header_is_right = !is_v4 || internet_checksum(header) == 0;

    let protocol = match packet.transport() {
        Transport::Tcp(_) => PROTOCOL_TCP,
        Transport::Udp(_) if body[6..8] == [0, 0] => return header_is_right && is_v4,
        Transport::Udp(_) => PROTOCOL_UDP,
        Transport::Icmp(_) if is_v4 => PROTOCOL_ICMP,
        Transport::Icmp(_) => super::PROTOCOL_ICMPV6,
        Transport::Opaque { .. } => return header_is_right,
    };
    header_is_right && transport_checksum(packet.ip(), protocol, body) == 0
}

/// The checksum of a transport header and what follows it, over whatever stands in the checksum field: write it there if that was
/// zero; 0 if a right one stood there. ICMP over IPv4 has no pseudo header (RFC 792), all others have.
pub(super) fn transport_checksum(ip: &Ip, protocol: u8, body: &[u8]) -> u16 {
    let mut sum = Sum16BitWords::new();
    if protocol != PROTOCOL_ICMP {
        sum = match ip.source {
            IpAddr::V4(source) => sum.add_4bytes(source.octets()).add_4bytes(destination_v4(ip).octets()),
            IpAddr::V6(source) => sum.add_16bytes(source.octets()).add_16bytes(destination_v6(ip).octets()),
        };
        // IPv6 has a length of 32 bits (RFC 8200, section 8.1); IPv4 has 16, which is the same sum for all that fits.
        sum = sum.add_4bytes((body.len() as u32).to_be_bytes()).add_2bytes([0, protocol]);
    }
    finish(&sum.add_slice(body))
}

/// The checksum of these octets: 0 if a right one is among them.
pub(super) fn internet_checksum(octets: &[u8]) -> u16 {
    finish(&Sum16BitWords::new().add_slice(octets))
}

/// etherparse sums words in the machine's order.
fn finish(sum: &Sum16BitWords) -> u16 {
    u16::from_be(sum.ones_complement())
}
