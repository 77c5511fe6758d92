//! Packets that arrive with a wrong bit.

use std::net::IpAddr;

use bytes::Bytes;

use super::checksum::header_and_body;
use super::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP, emit};
use crate::packet::{Packet, Transport};
use crate::payload::Payload;

/// The packet with one bit behind its IP header inverted. `bit` counts from there, modulo the number
/// of bits. A packet that is only an IP header stays as it is.
///
/// Its checksums stay, so that a receiver that verifies them finds out (over IPv4, a UDP datagram may
/// have come without one). The result is [`Transport::Opaque`]: no agent takes such a header at its
/// word.
#[must_use]
pub fn damaged(packet: &Packet, bit: u64) -> Packet {
    let mut octets = emit(packet).to_vec();
    let header_len = header_and_body(&octets).0.len();
    let bits = (octets.len() - header_len) as u64 * 8;
    let Some(bit) = bit.checked_rem(bits) else { return packet.clone() };
    octets[header_len + (bit / 8) as usize] ^= 1 << (bit % 8);
    let octets = Bytes::from(octets);
    let payload = Payload::Bytes(octets.slice(header_len..));
    Packet::parsed(*packet.ip(), opaque(packet), payload, packet.carried(), octets)
}

fn opaque(packet: &Packet) -> Transport {
    let protocol = match packet.transport() {
        Transport::Tcp(_) => PROTOCOL_TCP,
        Transport::Udp(_) => PROTOCOL_UDP,
        Transport::Icmp(_) => match packet.ip().source {
            IpAddr::V4(_) => PROTOCOL_ICMP,
            IpAddr::V6(_) => PROTOCOL_ICMPV6,
        },
        Transport::Opaque { protocol } => *protocol,
    };
    Transport::Opaque { protocol }
}
