//! TCP sequence numbers.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A 32-bit TCP sequence number. Comparison is modulo 2^32 (RFC 9293, section 3.4): of two numbers
/// less than 2^31 apart, the later is the one that is reached from the other by counting up.
///
/// It is deliberately not `Ord`: an order modulo 2^32 is not transitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seq(pub u32);

/// Octets of the largest window that TCP can have (RFC 7323, section 2.2).
pub const LARGEST_WINDOW: u32 = 1 << 30;

impl Seq {
    /// The distance of `self` from `earlier`; negative if `self` comes before.
    #[inline]
    pub const fn offset_from(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0).cast_signed()
    }

    /// Whether `self` comes before `other`.
    #[inline]
    pub const fn before(self, other: Self) -> bool {
        self.offset_from(other) < 0
    }

    /// Whether `self` comes after `other`.
    #[inline]
    pub const fn after(self, other: Self) -> bool {
        self.offset_from(other) > 0
    }

    /// Whether `self` lies in `[start, end)`.
    #[inline]
    pub const fn within(self, start: Self, end: Self) -> bool {
        !self.before(start) && self.before(end)
    }

    /// Whether two numbers are too far apart to belong to the same window, and so to one connection
    /// at one time.
    #[inline]
    pub const fn is_out_of_reach(self, other: Self) -> bool {
        self.offset_from(other).unsigned_abs() > LARGEST_WINDOW
    }

    /// The later of two numbers.
    #[inline]
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The earlier of two numbers.
    #[inline]
    #[must_use]
    pub const fn earlier(self, other: Self) -> Self {
        if other.before(self) { other } else { self }
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub for Seq {
    type Output = u32;
    /// The number of octets from `earlier` to `self`, modulo 2^32.
    fn sub(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let before = Seq(u32::MAX - 10);
        let after = before + 20;
        assert_eq!(after, Seq(9));
        assert!(before.before(after) && after.after(before));
        assert_eq!(after - before, 20);
        assert!(Seq(0).within(before, after) && !after.within(before, after));
        assert_eq!(before.later(after), after);
        assert_eq!(before.earlier(after), before);
    }
}
