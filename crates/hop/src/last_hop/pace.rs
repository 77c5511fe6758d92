//! The octets that one connection may have on a hop while others wait for room.
//!
//! Connections that share a window take turns. Data for a device that is slow downstream of the hop
//! stays in that window until it has arrived. Turn by turn it would fill the window, and the other
//! connections would get no more than the slow one. By Little's law the octets that a connection
//! has on the hop are its throughput times its round trip. So each may have twice what it delivers
//! in the round trip of the hop. Connections whose packets wait in the hop's own queue have less
//! than that, and are not limited by it.
//!
//! Until then the slow connection may have more than the window on the hop, for seconds. If the
//! packets of another connection nevertheless meet no queue, the data that fills the window does not
//! delay them: that connection may send a few segments whatever others have on the hop. So may a
//! connection that has nothing on the hop yet, to find out.

use std::time::Duration;

use lasthop_packet::Instant;

use super::{LastHop, Progress, Targets};

/// Segments that every connection may have on the hop: enough for its receiver to acknowledge them
/// at once, and for later segments to reveal a loss.
const MIN_SEGMENTS: u64 = 4;

/// The octets of one connection that arrive in a round trip over the hop. They are counted during a
/// round trip of the connection where that is shorter, so that a connection that begins next to a
/// slow one does not wait for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When counting began; the next field has the octets that have arrived since.
    since: Option<Instant>,
    arrived: u64,
    /// Octets in a round trip over the hop, in the count before.
    per_round_trip: u64,
    /// The connection's latest round trip.
    own: Option<Duration>,
}

impl Pace {
    /// Records what an ACK showed about the connection.
    pub fn on_progress(&mut self, progress: &Progress, hop: &LastHop, now: Instant) {
        let own = progress.sent.map(|sent| now.since(sent));
        self.own = own.or(self.own);
        let Some(round_trip) = hop.round_trip().filter(|_| progress.delivered > 0) else { return };
        self.arrived = self.arrived.saturating_add(progress.delivered);
        let passed = now.since(*self.since.get_or_insert(now));
        if passed >= own.map_or(round_trip, |own| own.min(round_trip)).max(Duration::from_nanos(1)) {
            let per_round_trip = u128::from(self.arrived) * round_trip.as_nanos() / passed.as_nanos();
            (self.since, self.arrived) = (Some(now), 0);
            self.per_round_trip = u64::try_from(per_round_trip).unwrap_or(u64::MAX);
        }
    }

    /// How many more octets the connection may send while others wait; `in_flight` of its octets
    /// are on the hop. Unlimited where all hosts share a window, because the round trip to one host
    /// says nothing about another's.
    pub fn allowance(&self, in_flight: u64, hop: &LastHop) -> u64 {
        if hop.is_shared() {
            return u64::MAX;
        }
        self.per_round_trip.saturating_mul(2).max(minimum(hop)).saturating_sub(in_flight)
    }

    /// How many more octets the connection may send although others have left no room in the
    /// window: none if its packets have met a queue.
    pub fn reserved(&self, in_flight: u64, hop: &LastHop, targets: &Targets) -> u64 {
        let met_no_queue = hop.target(targets).is_some_and(|target| self.own.is_none_or(|own| own <= target));
        if met_no_queue { minimum(hop).saturating_sub(in_flight) } else { 0 }
    }
}

/// Octets that every connection may have on the hop.
fn minimum(hop: &LastHop) -> u64 {
    MIN_SEGMENTS * u64::from(hop.segment())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    /// A hop whose rounds take 10 ms.
    fn hop() -> LastHop {
        let (targets, mut hop) = (Targets::default(), LastHop::new(Instant::ZERO));
        hop.record_segment(1000, &targets);
        for millis in 1..40 {
            let now = Instant::ZERO.after_nanos((10 + millis) * MILLI);
            let sent = Some(Instant::ZERO.after_nanos(millis * MILLI));
            hop.on_progress(
                Progress { delivered: 1000, sent, ..Progress::default() },
                [10, 0, 0, 1].into(),
                now,
                &targets,
            );
        }
        assert_eq!(hop.round_trip(), Some(Duration::from_millis(10)));
        hop
    }

    #[test]
    fn a_connection_may_have_two_round_trips_of_data_and_at_least_four_segments() {
        let hop = hop();
        let pace = Pace::default();
        assert_eq!((pace.allowance(0, &hop), pace.allowance(3000, &hop)), (4000, 1000));
        // A segment a millisecond, and one in five.
        for (every, expected) in [(1, 20_000), (5, 4000)] {
            let mut pace = Pace::default();
            for millis in (0..100).step_by(every) {
                let progress = Progress { delivered: 1000, ..Progress::default() };
                pace.on_progress(&progress, &hop, Instant::from_secs(1).after_nanos(millis * MILLI));
            }
            let allowed = pace.allowance(0, &hop);
            assert!(allowed.abs_diff(expected) <= 2000, "{allowed}, {expected}");
            assert_eq!(pace.allowance(50_000, &hop), 0);
        }
    }

    #[test]
    fn a_connection_that_meets_no_queue_may_have_four_segments_on_a_full_hop() {
        let (hop, targets) = (hop(), Targets::default());
        let after = |round_trip: u64| {
            let mut pace = Pace::default();
            let (sent, now) = (Instant::from_secs(1), Instant::from_secs(1).after_nanos(round_trip * MILLI));
            pace.on_progress(
                &Progress { delivered: 1000, sent: Some(sent), ..Progress::default() },
                &hop,
                now,
            );
            [0, 3000, 9000].map(|in_flight| pace.reserved(in_flight, &hop, &targets))
        };
        assert_eq!(Pace::default().reserved(0, &hop, &targets), 4000, "nothing is known yet");
        assert_eq!((after(10), after(40)), ([4000, 1000, 0], [0, 0, 0]));
        assert_eq!(
            Pace::default().reserved(0, &LastHop::new(Instant::ZERO), &targets),
            0,
            "no round trip is known"
        );
    }
}
