//! Rates in octets per second. Results are exact up to 100 Gbit/s over a second; above that they
//! saturate at 64 bits.

use std::time::Duration;

use lasthop_packet::time::nanos;

const NANOS: u64 = 1_000_000_000;

/// The rate of this number of octets in this time.
#[inline]
pub(super) fn per_second(octets: u64, time: Duration) -> u64 {
    octets.saturating_mul(NANOS) / nanos(time).max(1)
}

/// The octets that a rate sends in this time.
#[inline]
pub(super) fn octets_in(rate: u64, time: Duration) -> u64 {
    rate.saturating_mul(nanos(time)) / NANOS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_times_its_time_is_the_number_of_octets() {
        let rate = per_second(125_000, Duration::from_millis(50));
        assert_eq!(rate, 2_500_000);
        assert_eq!(octets_in(rate, Duration::from_millis(50)), 125_000);
        assert_eq!(per_second(1, Duration::ZERO), NANOS);
        assert_eq!(octets_in(u64::MAX, Duration::MAX), u64::MAX / NANOS);
    }
}
