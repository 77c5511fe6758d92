//! Octets to [`Packet`] and back.

use crate::packet::Packet;

/// The protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;

pub(crate) fn headers(_packet: &Packet) -> Vec<u8> {
    Vec::new()
}
