//! ACK aggregation: what ACKs bring at once beyond what the bandwidth says (draft-ietf-ccwg-bbr,
//! section 5.5.9).

use lasthop_packet::Instant;

use super::rate::octets_in;

/// A time in which ACKs come in at the bandwidth or faster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    start: Instant,
    acked: u64,
}

impl Aggregation {
    /// Starts counting again.
    pub(super) const fn restart(&mut self, now: Instant) {
        (self.start, self.acked) = (now, 0);
    }

    /// An ACK brought octets. Returns how many are beyond what the bandwidth says since the start.
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
    fn the_excess_of_a_burst_is_what_came_before_its_time() {
        let mut aggregation = Aggregation::default();
        let at = Instant::from_millis;
        // 1000 octets a millisecond; ACKs for 5000 each, of which three come at once.
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1000)), 5000);
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1000)), 10_000);
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1001)), 14_000);
        // 15 ms later, all that was expected has come: counting starts again.
        assert_eq!(aggregation.excess(5000, 1_000_000, at(1015)), 5000);
    }
}
