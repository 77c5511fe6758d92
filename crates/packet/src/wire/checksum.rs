//! Internet checksums (RFC 1071), and those of the transports with their pseudo headers.

use std::net::IpAddr;

use bytes::Bytes;
use etherparse::checksum::Sum16BitWords;

use super::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP, parse};
use crate::header::Ip;
use crate::packet::{Packet, Transport};

/// Whether the IPv4 header checksum and the transport checksum of this packet are right, as its
/// receiver would check them. A UDP checksum of zero means "none" over IPv4 (RFC 768) and is wrong
/// over IPv6 (RFC 8200, section 8.1). For an opaque packet only the IPv4 header is checked. Octets
/// that are no IP packet are wrong.
pub fn checksums_are_right(octets: &[u8]) -> bool {
    let Ok(packet) = parse(Bytes::copy_from_slice(octets)) else {
        return false;
    };
    header_checksum_is_right(&packet) && transport_checksum_is_right(&packet)
}

/// Whether the IPv4 header checksum is right in the packet's original octets. Always true for IPv6,
/// which has none, and for a packet that was edited or created here, whose checksum is computed
/// when it is written.
pub fn header_checksum_is_right(packet: &Packet) -> bool {
    packet.original().is_none_or(|octets| !is_v4(packet) || internet_checksum(header_and_body(octets).0) == 0)
}

/// Whether the transport checksum is right, with the rules of [`checksums_are_right`].
pub fn transport_checksum_is_right(packet: &Packet) -> bool {
    let Some(octets) = packet.original() else { return true };
    let body = header_and_body(octets).1;
    let protocol = match packet.transport() {
        Transport::Tcp(_) => PROTOCOL_TCP,
        Transport::Udp(_) if body[6..8] == [0, 0] => return is_v4(packet),
        Transport::Udp(_) => PROTOCOL_UDP,
        Transport::Icmp(_) if is_v4(packet) => PROTOCOL_ICMP,
        Transport::Icmp(_) => PROTOCOL_ICMPV6,
        Transport::Opaque { .. } => return true,
    };
    transport_checksum(packet.ip(), protocol, body) == 0
}

fn is_v4(packet: &Packet) -> bool {
    packet.ip().source.is_ipv4()
}

/// The IP header of a parsed packet, and the rest.
pub(super) fn header_and_body(octets: &[u8]) -> (&[u8], &[u8]) {
    let header_len = if octets[0] >> 4 == 4 { usize::from(octets[0] & 0x0f) * 4 } else { 40 };
    octets.split_at(header_len)
}

/// The checksum of a transport header and what follows it, including the present content of the
/// checksum field: if that was zero, the result belongs there; if it was right, the result is 0.
/// ICMP over IPv4 has no pseudo header (RFC 792), all others have one.
pub(super) fn transport_checksum(ip: &Ip, protocol: u8, body: &[u8]) -> u16 {
    let sum = if protocol == PROTOCOL_ICMP {
        Sum16BitWords::new()
    } else {
        pseudo_header(ip, protocol, body.len())
    };
    finish(&sum.add_slice(body))
}

/// The checksum field of a packet that a network card completes: the pseudo header's sum, not
/// complemented.
pub(super) fn partial_checksum(ip: &Ip, protocol: u8, len: usize) -> u16 {
    !finish(&pseudo_header(ip, protocol, len))
}

fn pseudo_header(ip: &Ip, protocol: u8, len: usize) -> Sum16BitWords {
    let mut sum = Sum16BitWords::new();
    let mut sum = match ip.source {
        IpAddr::V4(source) => sum.add_4bytes(source.octets()).add_4bytes(ip.destination_v4().octets()),
        IpAddr::V6(source) => sum.add_16bytes(source.octets()).add_16bytes(ip.destination_v6().octets()),
    };
    // IPv6 has a length of 32 bits (RFC 8200, section 8.1); IPv4 has 16, which gives the same sum
    // for every length that fits.
    sum.add_4bytes((len as u32).to_be_bytes()).add_2bytes([0, protocol])
}

/// The checksum of these octets: 0 if they include a right one.
pub(super) fn internet_checksum(octets: &[u8]) -> u16 {
    finish(&Sum16BitWords::new().add_slice(octets))
}

/// etherparse sums words in the machine's byte order.
fn finish(sum: &Sum16BitWords) -> u16 {
    u16::from_be(sum.ones_complement())
}
