//! How late ACKs may be before a leg over the hop sends less.
//!
//! Where the way back is narrow, ACKs queue there, and those that do not fit are dropped. As long
//! as that continues, each ACK that comes acknowledges more segments. A leg that continues to send
//! uses the full rate of the hop; one that treated the ACKs' queue as one of data would be limited
//! to two segments per ACK. But only the window makes such a leg send less. So a lateness of up to
//! [`MAX_LATENESS`] is tolerated, and none once a way back has shown that it queues ACKs for longer
//! than that, and drops none: there a larger window only makes the ACKs later.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::last_hop::{Progress, WayBack};

/// A queue on the way back that drops ACKs is usually no longer than this.
const MAX_LATENESS: Duration = Duration::from_millis(300);

/// Number of ACKs for a decision about the way back.
const MIN_ACKS: u32 = 16;

/// The lateness of one connection's ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LateAcks {
    way_back: WayBack,
    /// The last timestamp.
    newest: Option<Seq>,
    /// ACKs that were later than [`MAX_LATENESS`], and the octets that they acknowledged.
    seen: (u32, u64),
    /// The way back queues ACKs for longer, and drops none.
    is_deep: bool,
}

impl LateAcks {
    /// Records an ACK with this timestamp and progress. Returns the part of its delay that does not
    /// count as queueing: during an upload all of it, because a smaller window would not make ACKs
    /// earlier.
    pub(super) fn on_ack(
        &mut self,
        timestamp: Seq,
        progress: &Progress,
        segment: u32,
        has_upload: bool,
        now: Instant,
    ) -> Duration {
        // With the same timestamp, the end has sent nothing: the ACK comes from its MAC.
        if self.newest.replace(timestamp) == Some(timestamp) {
            return Duration::ZERO;
        }
        let round_trip = progress.sent.map(|sent| now.since(sent));
        let late = self.way_back.lateness(timestamp, round_trip, now);
        if has_upload {
            return late;
        }
        if self.is_deep {
            return Duration::ZERO;
        }
        if late > MAX_LATENESS {
            self.seen = (self.seen.0 + 1, self.seen.1.saturating_add(progress.delivered));
            let (acks, octets) = self.seen;
            if acks >= MIN_ACKS {
                // A receiver acknowledges every second segment.
                self.is_deep = 2 * octets < 5 * u64::from(acks) * u64::from(segment);
                self.seen = (0, 0);
            }
        }
        late.min(MAX_LATENESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lateness of the last ACK of a flow, in milliseconds. Each ACK acknowledges `segments`
    /// segments; from 500 ms on ACKs wait for `millis`.
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
    fn a_lateness_of_up_to_300_ms_is_tolerated() {
        assert_eq!([50, 200, 800].map(|millis| late_by(millis, 4)), [49, 199, 300]);
    }

    #[test]
    fn no_lateness_is_tolerated_where_more_acks_queue_and_none_are_dropped() {
        assert_eq!([50, 200, 800].map(|millis| late_by(millis, 2)), [49, 199, 0]);
    }

    // The station of AS-TCP acknowledges by its MAC, in the name of an end that has sent nothing.
    #[test]
    fn a_repeated_timestamp_shows_nothing_about_the_way_back() {
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
