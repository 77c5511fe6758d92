//! Whether a text has changed.

/// The 64-bit FNV-1a hash of a text (Fowler, Noll, Vo; RFC 9923): the same on every machine and in
/// every version. It finds changes; it does not withstand an attacker.
pub(super) fn digest(text: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET_BASIS, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of RFC 9923.
    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
    }
}
