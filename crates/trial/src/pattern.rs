//! Octets that depend on their place in the stream: what real hosts send each other, and check.

use std::sync::LazyLock;

/// Octets that are written or read at once.
pub(super) const PIECE: usize = 128 * 1024;
/// The pattern's period; prime, so that an octet out of place is the wrong one.
const PERIOD: u64 = 65_521;
/// How far apart two streams begin in the pattern: an octet of another stream is a wrong one, too.
const APART: u64 = 7_919;

/// One period, and a piece more: a piece from anywhere in the period is in one place.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state: u32 = 0x9e37_79b9;
    let period: Vec<u8> = (0..PERIOD)
        .map(|_| {
            // xorshift32 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect();
    period.iter().copied().cycle().take(PERIOD as usize + PIECE).collect()
});

/// Octets of a stream from `position` on: `len` of them, at most [`PIECE`].
pub(super) fn octets(stream: u64, position: u64, len: usize) -> &'static [u8] {
    let start = (stream % PERIOD * APART + position % PERIOD) % PERIOD;
    &PATTERN[start as usize..][..len.min(PIECE)]
}

/// Whether these are the octets of a stream from `position` on, at most [`PIECE`] of them.
pub(super) fn is_right(stream: u64, position: u64, read: &[u8]) -> bool {
    octets(stream, position, read.len()) == read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_and_what_is_out_of_place_is_wrong() {
        let whole = octets(3, 0, 5000);
        assert!(is_right(3, 1234, &whole[1234..4000]));
        assert!(is_right(3, PERIOD * 9 + 100, &whole[100..200]), "far into the stream");
        assert!(!is_right(3, 1235, &whole[1234..4000]), "one octet missing");
        assert!(!is_right(4, 0, &whole[..100]), "of another stream");
        assert_eq!(octets(0, PERIOD - 1, PIECE + 1).len(), PIECE);
    }
}
