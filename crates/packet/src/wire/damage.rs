//! Packets with a bit error.

use bytes::Bytes;

use super::checksum::header_and_body;
use super::emit::{emit, protocol};
use crate::packet::{Packet, Transport};
use crate::payload::Payload;

/// The packet with one inverted bit after its IP header. `bit` counts from there, modulo the number
/// of bits. A packet that is only an IP header is unchanged.
///
/// The checksums are not updated, so a receiver that verifies them detects the damage, unless it is
/// a UDP datagram over IPv4 without a checksum. The result is [`Transport::Opaque`]: agents do not
/// read its header.
#[must_use]
pub fn damaged(packet: &Packet, bit: u64) -> Packet {
    let mut octets = emit(packet).to_vec();
    let header_len = header_and_body(&octets).0.len();
    let bits = (octets.len() - header_len) as u64 * 8;
    let Some(bit) = bit.checked_rem(bits) else { return packet.clone() };
    octets[header_len + (bit / 8) as usize] ^= 1 << (bit % 8);
    let octets = Bytes::from(octets);
    let payload = Payload::Bytes(octets.slice(header_len..));
    let transport = Transport::Opaque { protocol: protocol(packet) };
    Packet::parsed(*packet.ip(), transport, payload, packet.carried(), octets)
}
