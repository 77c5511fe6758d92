//! Multiples of the bandwidth and of the bandwidth-delay product.

/// A multiple, in 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Gain {
    /// 1.
    pub(super) const UNIT: Self = Self(256);
    /// 2/ln 2: the minimum with which the rate doubles each round trip.
    pub(super) const HIGH: Self = Self(256 * 2885 / 1000 + 1);
    /// The inverse of [`Self::HIGH`], which drains its queue in a round trip.
    pub(super) const DRAIN: Self = Self(256 * 1000 / 2885);
    /// Gain of the window in steady state: room for late ACKs.
    pub(super) const CWND: Self = Self(512);
    /// 5/4, to find more bandwidth.
    pub(super) const FASTER: Self = Self(256 * 5 / 4);
    /// 3/4, to drain the queue of [`Self::FASTER`].
    pub(super) const SLOWER: Self = Self(256 * 3 / 4);

    #[inline]
    pub(super) const fn of(self, value: u64) -> u64 {
        value.saturating_mul(self.0) >> 8
    }
}
