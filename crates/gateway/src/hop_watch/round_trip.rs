//! Round-trip times from here to an end.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::segment::Segment;

/// Microseconds of the gateway's clock, modulo 2^32: 71 minutes.
pub(super) type Micros = u32;

/// No round trip takes longer: an acknowledgment went past us (RFC 6298, section 2.4, has this as a
/// bound of the time-out).
const LONGEST_ROUND_TRIP: Micros = 60_000_000;

/// A round-trip time from here to an end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    /// Behind the segment that is timed, and when it went.
    timed: Option<(Seq, Micros)>,
    pub(super) smoothed: Option<Micros>,
    pub(super) least: Micros,
}

impl RoundTrip {
    /// A segment goes to the end; `is_next` if it follows what went before.
    #[inline]
    pub(super) fn sent(&mut self, segment: Segment, is_next: bool, now: Micros) {
        match self.timed {
            None if is_next => {
                // Of a super-packet, the first segment.
                self.timed = Some((segment.seq + segment.each.min(segment.len), now));
            }
            // Its acknowledgment would be one of the copy, or be held back until the copy comes.
            Some((end, _)) if !is_next && segment.seq.before(end) => self.timed = None,
            _ => {}
        }
    }

    /// The end has everything up to here. Nothing behind `sent` has gone to it.
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
        self.least = self.smoothed.map_or(sample, |_| self.least.min(sample));
        self.smoothed = Some(before.wrapping_add_signed(sample.wrapping_sub(before).cast_signed() / 8));
    }
}

pub(super) fn micros(at: Instant) -> Micros {
    (at.as_nanos() / 1000) as Micros
}

pub(super) fn duration(micros: Micros) -> Duration {
    Duration::from_micros(micros.into())
}
