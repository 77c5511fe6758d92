//! What the loop counts and times while it runs; the summary is made of it.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::NodeId;

use lasthop_linux::lateness::Lateness;

/// All that the loop measures of a run.
#[derive(Debug)]
pub(super) struct Measurements {
    /// From the time at which the model delivered a packet to the time at which its host was given
    /// it.
    pub(super) lateness: Lateness,
    pub(super) stalls: Stalls,
    pub(super) packets: PacketCounts,
    /// What was given to the host of each end.
    pub(super) delivered: Vec<Delivered>,
}

/// What was given to a host.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) node: NodeId,
    pub(super) packets: u64,
    pub(super) octets: u64,
}

/// Times at which the loop was late for the next event. Until it has caught up, it is late for the events
/// that follow, too: these are of the same stall.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stalls {
    pub(super) count: u64,
    pub(super) total: Duration,
    pub(super) longest: Duration,
    /// Cut out of the model's time.
    pub(super) cut: Duration,
    /// When the last one began, and until when it is counted.
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
    /// Of a run that has not begun, with hosts at these nodes.
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
    /// Notes that the loop is late by this now, and how much of it is cut out.
    pub(super) fn note(&mut self, now: Instant, late: Duration, cut: Duration) {
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
    fn events_that_are_late_because_the_loop_catches_up_are_of_the_same_stall() {
        let ms = Duration::from_millis;
        let at = |millis| Instant::ZERO + ms(millis);
        let mut stalls = Stalls::default();
        stalls.note(at(1_000), ms(500), ms(400));
        // These were due within the 100 ms that are caught up with.
        stalls.note(at(1_010), ms(90), ms(0));
        stalls.note(at(1_030), ms(60), ms(0));
        assert_eq!((stalls.count, stalls.total, stalls.longest), (1, ms(530), ms(530)));
        stalls.note(at(1_100), ms(20), ms(0));
        assert_eq!((stalls.count, stalls.total, stalls.longest, stalls.cut), (2, ms(550), ms(530), ms(400)));
    }

    #[test]
    fn a_loop_that_is_always_late_has_stalled_for_no_more_than_all_of_the_time() {
        let mut stalls = Stalls::default();
        for second in 1..=10 {
            for turn in 0..10 {
                let now = Instant::ZERO + Duration::from_millis(second * 1_000 + turn * 100);
                stalls.note(now, Duration::from_millis(900), Duration::from_millis(800));
            }
        }
        assert!(stalls.total <= Duration::from_secs(11), "{stalls:?}");
    }
}
