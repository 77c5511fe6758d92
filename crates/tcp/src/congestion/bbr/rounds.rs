//! Packet-timed round trips: a round trip ends when a segment is delivered that was sent after the
//! end of the previous one (draft-ietf-ccwg-bbr, section 5.5.1).

/// Counts round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Completed round trips (`BBR.round_count`).
    pub(super) count: u64,
    /// The last ACK ended a round trip (`BBR.round_start`).
    pub(super) is_start: bool,
    /// Octets delivered when the current one began (`BBR.next_round_delivered`).
    next_delivered: u64,
}

impl Rounds {
    /// Processes the delivery of a segment: `prior` octets were delivered when it was sent, and
    /// `delivered` are now.
    #[inline]
    pub(super) const fn on_delivery(&mut self, prior: u64, delivered: u64) {
        self.is_start = prior >= self.next_delivered;
        if self.is_start {
            self.next_delivered = delivered;
            self.count += 1;
        }
    }

    /// Begins a round trip with the next segment sent.
    pub(super) const fn begin(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_when_a_segment_sent_after_the_previous_one_is_delivered() {
        let mut rounds = Rounds::default();
        rounds.on_delivery(0, 1000);
        assert_eq!((rounds.count, rounds.is_start), (1, true));
        rounds.on_delivery(0, 2000);
        rounds.on_delivery(999, 3000);
        assert_eq!((rounds.count, rounds.is_start), (1, false));
        rounds.on_delivery(1000, 4000);
        assert_eq!((rounds.count, rounds.is_start), (2, true));
        rounds.begin(9000);
        rounds.on_delivery(8999, 10_000);
        assert_eq!(rounds.count, 2);
    }
}
