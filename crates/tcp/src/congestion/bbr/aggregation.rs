//! ACK aggregation: octets that ACKs deliver at once in excess of the bandwidth
//! (draft-ietf-ccwg-bbr, section 5.5.9).

use lasthop_packet::Instant;

use super::rate::octets_in;

/// A period in which ACKs arrive at the bandwidth or faster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    start: Instant,
    acked: u64,
}

impl Aggregation {
    /// Starts a new period.
    pub(super) const fn restart(&mut self, now: Instant) {
        (self.start, self.acked) = (now, 0);
    }

    /// Processes an ACK. Returns the octets of this period in excess of the bandwidth.
    pub(super) fn excess(&mut self, acked: u64, bandwidth: u64, now: Instant) -> u64 {
        let mut expected = octets_in(bandwidth, now.since(self.start));
        if self.acked <= expected {
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        self.acked.saturating_sub(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_the_acknowledged_octets_above_the_bandwidth() {
        let mut aggregation = Aggregation::default();
        let at = Instant::from_millis;
        // 1000 octets a millisecond; ACKs for 5000 octets each, three of them in a burst.
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1000)), 5000);
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1000)), 10_000);
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1001)), 14_000);
        // 14 ms later, the bandwidth has caught up: a new period starts.
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1015)), 5000);
    }
}
