//! Multiples of the bandwidth and of the bandwidth-delay product.

/// A multiple, in 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Gain {
    /// Once.
    pub(super) const UNIT: Self = Self(256);
    /// 2/ln 2: the least with which the rate doubles each round trip.
    pub(super) const HIGH: Self = Self(256 * 2885 / 1000 + 1);
    /// The inverse, which drains in a round trip what the other has filled.
    pub(super) const DRAIN: Self = Self(256 * 1000 / 2885);
    /// The window in steady state: room for ACKs that come late.
    pub(super) const CWND: Self = Self(512);
    /// Faster, to find more bandwidth.
    pub(super) const FASTER: Self = Self(256 * 5 / 4);
    /// Slower, to drain what that has filled.
    pub(super) const SLOWER: Self = Self(256 * 3 / 4);

    #[inline]
    pub(super) const fn of(self, value: u64) -> u64 {
        value.saturating_mul(self.0) >> 8
    }
}
