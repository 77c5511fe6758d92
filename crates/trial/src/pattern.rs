//! Octets that depend on their position in the stream, so that real hosts can check what they
//! receive.

use std::sync::LazyLock;

/// The maximum number of octets that are written or read at once.
pub(super) const PIECE: usize = 128 * 1024;
/// The period of the pattern. It is prime, so that displaced octets are wrong.
const PERIOD: u64 = 65_521;
/// The offset in the pattern between the beginnings of successive streams, so that octets of
/// another stream are wrong.
const STREAM_OFFSET: u64 = 7_919;

/// One period and one piece, so that a piece from any position in the period is contiguous.
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

/// `len` octets of a stream from `position` on, at most [`PIECE`].
pub(super) fn octets(stream: u64, position: u64, len: usize) -> &'static [u8] {
    let start = (stream % PERIOD * STREAM_OFFSET + position % PERIOD) % PERIOD;
    &PATTERN[start as usize..][..len.min(PIECE)]
}

/// Whether these, at most [`PIECE`], are the octets of a stream from `position` on.
pub(super) fn is_right(stream: u64, position: u64, read: &[u8]) -> bool {
    octets(stream, position, read.len()) == read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_contiguous_and_displaced_octets_are_wrong() {
        let whole = octets(3, 0, 5000);
        assert!(is_right(3, 1234, &whole[1234..4000]));
        assert!(is_right(3, PERIOD * 9 + 100, &whole[100..200]), "far into the stream");
        assert!(!is_right(3, 1235, &whole[1234..4000]), "one octet missing");
        assert!(!is_right(4, 0, &whole[..100]), "of another stream");
        assert_eq!(octets(0, PERIOD - 1, PIECE + 1).len(), PIECE);
    }
}
