//! Round-trip times from the gateway to an endpoint.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::segment::Segment;

/// Microseconds of the gateway's clock, modulo 2^32: 71 minutes.
pub(super) type Micros = u32;

/// The maximum sample; for a longer one, the acknowledgment bypassed the gateway (RFC 6298, section
/// 2.4, has this as a bound of the time-out).
const LONGEST_ROUND_TRIP: Micros = 60_000_000;

/// The round-trip time from the gateway to an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    /// The end of the timed segment, and its departure time.
    timed: Option<(Seq, Micros)>,
    pub(super) smoothed: Option<Micros>,
    pub(super) minimum: Micros,
}

impl RoundTrip {
    /// Records a segment to the endpoint; `is_next` if it immediately follows the previous data.
    #[inline]
    pub(super) fn sent(&mut self, segment: Segment, is_next: bool, now: Micros) {
        match self.timed {
            None if is_next => {
                // In a super-packet, the first segment is timed.
                self.timed = Some((segment.seq + segment.each.min(segment.len), now));
            }
            // The acknowledgment would be that of the copy, or be delayed until the copy arrives.
            Some((end, _)) if !is_next && segment.seq.before(end) => self.timed = None,
            _ => {}
        }
    }

    /// Records an acknowledgment from the endpoint. `sent` is the next sequence number to it.
    #[inline]
    pub(super) fn acknowledged(&mut self, ack: Seq, sent: Option<Seq>, now: Micros) {
        if let Some((end, at)) = self.timed
            && !ack.before(end)
            && sent.is_some_and(|sent| !ack.after(sent))
        {
            self.timed = None;
            let sample = now.wrapping_sub(at);
            if sample < LONGEST_ROUND_TRIP {
                self.sample(sample);
            }
        }
    }

    fn sample(&mut self, sample: Micros) {
        let before = self.smoothed.unwrap_or(sample);
        self.minimum = self.smoothed.map_or(sample, |_| self.minimum.min(sample));
        self.smoothed = Some(before.wrapping_add_signed(sample.wrapping_sub(before).cast_signed() / 8));
    }
}

pub(super) fn micros(at: Instant) -> Micros {
    (at.as_nanos() / 1000) as Micros
}

pub(super) fn duration(micros: Micros) -> Duration {
    Duration::from_micros(micros.into())
}
