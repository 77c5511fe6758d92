//! Changes one octet of an IP header in place, for packets that cannot be parsed and written again:
//! fragments and headers with options are otherwise forwarded unchanged.

use bytes::Bytes;

use crate::incremental::updated;

/// A copy of a packet's octets, which begin with an IP header, with another type of service (IPv4)
/// or traffic class (IPv6).
pub(crate) fn with_traffic_class(octets: &Bytes, class: u8) -> Bytes {
    let mut octets = octets.to_vec();
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= 20 => set_in_v4(&mut octets, class),
        Some(6) if octets.len() >= 40 => {
            octets[0] = octets[0] & 0xf0 | class >> 4;
            octets[1] = octets[1] & 0x0f | class << 4;
        }
        _ => {}
    }
    octets.into()
}

/// The checksum is updated, not computed, so that a wrong one stays wrong.
fn set_in_v4(octets: &mut [u8], class: u8) {
    let (old, checksum) = ([octets[0], octets[1]], u16::from_be_bytes([octets[10], octets[11]]));
    octets[1] = class;
    let checksum = updated(checksum, &old, &octets[..2]);
    octets[10..12].copy_from_slice(&checksum.to_be_bytes());
}
