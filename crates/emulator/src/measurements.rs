//! The counters and times that the event loop records for the summary.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::NodeId;

use lasthop_linux::lateness::Lateness;

/// All measurements of a run.
#[derive(Debug)]
pub(super) struct Measurements {
    /// The time between the delivery of a packet in the model and its delivery to the host.
    pub(super) lateness: Lateness,
    pub(super) stalls: Stalls,
    pub(super) packets: PacketCounts,
    /// The packets delivered to the host at each end.
    pub(super) delivered: Vec<Delivered>,
}

/// The packets delivered to a host.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) node: NodeId,
    pub(super) packets: u64,
    pub(super) octets: u64,
}

/// Stalls: periods in which the loop was late for the next event. Later events that are late
/// because the loop is still catching up belong to the same stall.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stalls {
    pub(super) count: u64,
    pub(super) total: Duration,
    pub(super) longest: Duration,
    /// The time cut out of the model's time.
    pub(super) cut: Duration,
    /// The start of the last stall, and the time up to which it has been counted.
    last: Option<(Instant, Instant)>,
}

/// Packets at the ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    pub(super) taken: u64,
    pub(super) not_ip: u64,
    pub(super) malformed: u64,
    pub(super) refused: u64,
}

impl Measurements {
    /// Creates the measurements of a run that has not started, with hosts at these nodes.
    pub(super) fn new(nodes: impl Iterator<Item = NodeId>) -> Self {
        Self {
            lateness: Lateness::new(),
            stalls: Stalls::default(),
            packets: PacketCounts::default(),
            delivered: nodes.map(|node| Delivered { node, packets: 0, octets: 0 }).collect(),
        }
    }
}

impl Stalls {
    /// Records that the loop is late by `late` now, and that `cut` of it is cut out.
    pub(super) fn record(&mut self, now: Instant, late: Duration, cut: Duration) {
        let due = Instant::ZERO + now.since(Instant::ZERO).saturating_sub(late);
        let (began, counted) = match self.last {
            Some((began, until)) if due < until => (began, until),
            _ => {
                self.count += 1;
                (due, due)
            }
        };
        self.last = Some((began, now));
        self.total += now.since(counted);
        self.longest = self.longest.max(now.since(began));
        self.cut += cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_late_while_the_loop_catches_up_belong_to_the_same_stall() {
        let ms = Duration::from_millis;
        let at = |millis| Instant::ZERO + ms(millis);
        let mut stalls = Stalls::default();
        stalls.record(at(1_000), ms(500), ms(400));
        // These were due within the 100 ms that are caught up with.
        stalls.record(at(1_010), ms(90), ms(0));
        stalls.record(at(1_030), ms(60), ms(0));
        assert_eq!((stalls.count, stalls.total, stalls.longest), (1, ms(530), ms(530)));
        stalls.record(at(1_100), ms(20), ms(0));
        assert_eq!((stalls.count, stalls.total, stalls.longest, stalls.cut), (2, ms(550), ms(530), ms(400)));
    }

    #[test]
    fn the_total_of_stalls_does_not_exceed_the_duration_of_the_run() {
        let mut stalls = Stalls::default();
        for second in 1..=10 {
            for tenth in 0..10 {
                let now = Instant::ZERO + Duration::from_millis(second * 1_000 + tenth * 100);
                stalls.record(now, Duration::from_millis(900), Duration::from_millis(800));
            }
        }
        assert!(stalls.total <= Duration::from_secs(11), "{stalls:?}");
    }
}
