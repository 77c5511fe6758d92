//! Packet-timed round trips: a round trip ends when a segment is delivered that was sent after the
//! end of the previous one (draft-ietf-ccwg-bbr, section 5.5.1).

use crate::retransmission_queue::RateSample;

/// Counts round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Completed round trips (`BBR.round_count`).
    count: u64,
    /// The last ACK ended a round trip (`BBR.round_start`).
    is_start: bool,
    /// Octets delivered when the current one began (`BBR.next_round_delivered`).
    next_delivered: u64,
}

impl Rounds {
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn is_start(&self) -> bool {
        self.is_start
    }

    /// Processes an ACK, after which `delivered` octets are delivered. Without a rate, it ends no round trip.
    #[inline]
    pub(super) fn on_ack(&mut self, rate: Option<&RateSample>, delivered: u64) {
        self.is_start = rate.is_some_and(|rate| rate.prior_delivered >= self.next_delivered);
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
    use super::super::tests::delivery;
    use super::*;

    #[test]
    fn a_round_ends_when_a_segment_sent_after_the_previous_one_is_delivered() {
        let mut rounds = Rounds::default();
        for (prior, delivered, count, is_start) in [
            (Some(0), 1000, 1, true),
            (Some(0), 2000, 1, false),
            (Some(999), 3000, 1, false),
            (Some(1000), 4000, 2, true),
            (None, 4000, 2, false),
        ] {
            rounds.on_ack(prior.map(|prior| delivery(prior, delivered)).as_ref(), delivered);
            assert_eq!((rounds.count(), rounds.is_start()), (count, is_start));
        }
        rounds.begin(9000);
        rounds.on_ack(Some(&delivery(8999, 10_000)), 10_000);
        assert_eq!(rounds.count(), 2);
    }
}
