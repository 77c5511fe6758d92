//! By how much ACKs may be late before a leg over the hop sends less.
//!
//! Where the way back is narrow, ACKs queue there, and it drops those that it has no room for. As long as
//! that goes on, each ACK that comes tells of more segments: a leg that sends on has the hop work at its
//! full rate, and one that took the ACKs' queue for one of data would keep it to two segments an ACK. But
//! nothing else than the window makes such a leg send less. So late ACKs are borne for [`MOST`], and no
//! longer once a way back has shown that it queues ACKs for more than that, and drops none: there a larger
//! window makes only the ACKs later.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::last_hop::{Progress, WayBack};

/// A queue on the way back that drops ACKs is mostly no longer than this.
const MOST: Duration = Duration::from_millis(300);

/// ACKs by which it is judged.
const ENOUGH: u32 = 16;

/// How late the ACKs of one connection are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LateAcks {
    way_back: WayBack,
    /// The last timestamp.
    newest: Option<Seq>,
    /// ACKs that were later than that, and the octets that they acknowledged.
    seen: (u32, u64),
    /// The way back queues them for longer, and drops none.
    is_deep: bool,
}

impl LateAcks {
    /// An ACK with this timestamp came, which shows this. Returns how much of its delay is not to count as
    /// queueing: beside an upload all of it, because a smaller window would not make ACKs earlier.
    pub(super) fn on_ack(
        &mut self,
        timestamp: Seq,
        progress: &Progress,
        segment: u32,
        is_beside_upload: bool,
        now: Instant,
    ) -> Duration {
        // Otherwise the end has sent nothing: this comes from its MAC.
        if self.newest.replace(timestamp) == Some(timestamp) {
            return Duration::ZERO;
        }
        let round_trip = progress.sent.map(|sent| now.since(sent));
        let late = self.way_back.lateness(timestamp, round_trip, now);
        if is_beside_upload {
            return late;
        }
        if self.is_deep {
            return Duration::ZERO;
        }
        if late > MOST {
            self.seen = (self.seen.0 + 1, self.seen.1.saturating_add(progress.delivered));
            let (acks, octets) = self.seen;
            if acks >= ENOUGH {
                // A receiver acknowledges every second segment.
                self.is_deep = 2 * octets < 5 * u64::from(acks) * u64::from(segment);
                self.seen = (0, 0);
            }
        }
        late.min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How late the last ACK of a flow seems, in milliseconds. Each ACK acknowledges `segments` segments; from
    /// 500 ms on ACKs wait for `millis`.
    fn late_by(millis: u64, segments: u64) -> u64 {
        let mut acks = LateAcks::default();
        let mut late = Duration::ZERO;
        for number in 0..400 {
            let sent = 5 * number;
            let queued = if sent < 500 { 0 } else { millis };
            let now = Instant::from_millis(1_000 + sent + queued);
            let progress = Progress { delivered: segments * 1000, ..Progress::default() };
            late = acks.on_ack(Seq(sent as u32), &progress, 1000, false, now);
        }
        late.as_millis() as u64
    }

    #[test]
    fn late_acks_are_borne_for_300_ms() {
        assert_eq!([50, 200, 800].map(|millis| late_by(millis, 4)), [49, 199, 300]);
    }

    #[test]
    fn but_not_where_more_of_them_queue_and_none_are_dropped() {
        assert_eq!([50, 200, 800].map(|millis| late_by(millis, 2)), [49, 199, 0]);
    }

    // AS-TCP's station acknowledges by its MAC, in the name of an end that has sent nothing.
    #[test]
    fn a_timestamp_that_has_been_seen_tells_nothing_of_the_way_back() {
        let mut acks = LateAcks::default();
        let mut late_after = |sent: u32, millis| {
            acks.on_ack(Seq(sent), &Progress::default(), 1000, false, Instant::from_millis(1_000 + millis))
        };
        for number in 0..400 {
            late_after(5 * number, u64::from(5 * number));
        }
        assert!(late_after(2_000, 2_200) > Duration::from_millis(150));
        assert_eq!(late_after(2_000, 2_250), Duration::ZERO);
        assert!(late_after(2_100, 2_300) > Duration::from_millis(150));
    }
}
