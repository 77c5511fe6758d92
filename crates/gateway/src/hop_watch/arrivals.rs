//! What comes from a side, and how much of it was lost before.
//!
//! Late or lost: what fills a gap with an older timestamp than a later segment had (RFC 7323) was
//! overtaken. Otherwise it was lost if three segments or more came in between (RFC 5681, section
//! 3.2), or a quarter of a round-trip time went by (RFC 8985, section 6.2).

use lasthop_packet::Seq;

use super::passage::{Old, Passage};
use super::round_trip::Micros;
use super::segment::Segment;

/// Segments that come before a late one (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;
/// A copy takes longer, where no round-trip time is known: a quarter of the least time-out that is in
/// use (Linux: 200 ms).
const UNKNOWN_WINDOW: Micros = 50_000;

/// What has come from a side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    passage: Option<Passage>,
    /// When the latest gap was seen.
    gap_at: Micros,
    /// The latest timestamp.
    timestamp: Option<u32>,
}

impl Arrivals {
    /// How many of a segment's segments were lost before.
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

    /// Whether a segment that was missing was overtaken by others, and not lost.
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
        let behind = (passage.next - segment.end()).saturating_sub(passage.missing);
        let window = round_trip.map_or(UNKNOWN_WINDOW, |round_trip| round_trip / 4);
        behind < DUPLICATES * segment.each && now.wrapping_sub(self.gap_at) < window
    }

    #[inline]
    pub(super) fn is_complete(&mut self, ack: Seq) {
        if let Some(passage) = &mut self.passage {
            passage.is_complete(ack);
        }
    }
}
