//! Checksums of packets that are changed in place (RFC 1624).

/// A checksum after octets that it covers were replaced, both of the same even number, from an even
/// position on. A wrong checksum stays wrong.
pub(crate) fn updated(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    let words = |octets: &[u8]| -> Vec<u32> {
        octets.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]).into()).collect()
    };
    //= RFC 1624, section 3: HC' = ~(~HC + ~m + m')
    let mut sum = u32::from(!checksum);
    for (old, new) in words(old).into_iter().zip(words(new)) {
        sum += (!old & 0xffff) + new;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
