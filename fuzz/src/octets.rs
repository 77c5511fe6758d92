//! Choices that the octets of an input make.

use std::time::Duration;

/// The rest of an input. At its end every octet is 0.
pub struct Octets<'a>(pub &'a [u8]);

impl Octets<'_> {
    /// Whether none is left.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next octet.
    pub fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is 1 to 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.octet()) % bound
    }

    /// Whether the next octet is odd.
    pub fn flag(&mut self) -> bool {
        self.octet() & 1 != 0
    }

    /// Two octets.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// Four octets.
    pub fn long(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    /// One of these; there is one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// 0 to 100 s, short ones more often: each step of the octet's high half is about three times
    /// as long.
    pub fn time(&mut self) -> Duration {
        let octet = self.octet();
        let micros = [0, 1, 10, 100, 300, 1_000, 3_000, 10_000, 20_000, 40_000, 100_000, 300_000];
        let unit = match usize::from(octet >> 4) {
            short if short < micros.len() => micros[short],
            long => [1_000_000, 3_000_000, 10_000_000, 100_000_000][long - micros.len()] / 16,
        };
        Duration::from_micros(unit * u64::from(octet & 15).max(1))
    }
}
