//! The clocks that hosts take their timestamps from (RFC 7323).

/// Ticks a second of the clocks in use, from the slowest one: RFC 7323, section 5.4, has 1 ms to 1 s, Linux
/// 1 ms (1 us as `tcp_usec_ts`), Windows 10 or 1 ms, the BSDs 1, 10 or 500 ms.
pub(crate) const RATES: [u64; 6] = [1, 2, 10, 100, 1_000, 1_000_000];
