//! The segments that arrive from a side, and the losses before their arrival.
//!
//! A segment that fills a gap was reordered if its timestamp is older than that of a later segment
//! (RFC 7323). Otherwise it was lost if three or more segments arrived in between (RFC 5681,
//! section 3.2), or a quarter of a round-trip time passed (RFC 8985, section 6.2).

use lasthop_packet::Seq;

use super::passage::{Old, Passage};
use super::round_trip::Micros;
use super::segment::Segment;

/// The number of later segments after which a missing segment is lost (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;
/// The reordering window if no round-trip time is known: a quarter of the minimum retransmission
/// time-out in use (Linux: 200 ms).
const UNKNOWN_WINDOW: Micros = 50_000;

/// The segments received from a side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    passage: Option<Passage>,
    /// The time at which the latest gap appeared.
    gap_at: Micros,
    /// The latest timestamp.
    timestamp: Option<u32>,
}

impl Arrivals {
    /// Records a segment. Returns how many of its segments are retransmissions of lost ones.
    #[inline]
    pub(super) fn lost(
        &mut self,
        segment: Segment,
        timestamp: Option<u32>,
        round_trip: Option<Micros>,
        now: Micros,
    ) -> u32 {
        let passage = self.passage.get_or_insert(Passage::before(segment));
        let (Old { filled, .. }, is_gap) = passage.pass(segment);
        if is_gap {
            self.gap_at = now;
        }
        let lost = if filled > 0 && !self.is_late(segment, timestamp, round_trip, now) {
            segment.segments_in(filled)
        } else {
            0
        };
        self.timestamp = match (self.timestamp, timestamp) {
            (Some(latest), Some(timestamp)) => Some(Seq(latest).later(Seq(timestamp)).0),
            (latest, timestamp) => timestamp.or(latest),
        };
        lost
    }

    /// Whether a segment that was missing was reordered, not lost.
    #[cold]
    fn is_late(
        &self,
        segment: Segment,
        timestamp: Option<u32>,
        round_trip: Option<Micros>,
        now: Micros,
    ) -> bool {
        let Some(passage) = self.passage else { return false };
        if let (Some(latest), Some(timestamp)) = (self.timestamp, timestamp)
            && timestamp != latest
        {
            return Seq(timestamp).before(Seq(latest));
        }
        let later = (passage.next - segment.end()).saturating_sub(passage.missing);
        let window = round_trip.map_or(UNKNOWN_WINDOW, |round_trip| round_trip / 4);
        later < DUPLICATES * segment.each && now.wrapping_sub(self.gap_at) < window
    }

    /// Records that all octets up to this acknowledgment have arrived.
    #[inline]
    pub(super) fn is_complete(&mut self, ack: Seq) {
        if let Some(passage) = &mut self.passage {
            passage.is_complete(ack);
        }
    }
}
