//! The agreed quality of a call, and whether a sample meets it.
//!
//! In the paper, an access point compares a stream with an agreed quality, and learns that from RTP
//! and RTCP. Neither carries one: ends agree by SDP (RFC 4566), in messages that an access point
//! need not see. Here the operator sets it, the same for all calls.

use std::time::Duration;

/// The required quality of a call's packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The maximum end-to-end delay, as far as it is known.
    pub delay: Duration,
    /// The maximum delay of a packet in excess of the stream's minimum, which a receiver's playout
    /// buffer compensates for.
    pub variation: Duration,
    /// The maximum share of missing packets, 0 to 1.
    pub loss: f64,
}

impl Quality {
    /// Whether a packet can no longer arrive in time: one that took `variation` longer than the
    /// stream's minimum delay, on a path whose legs take at least `path` one way. Both limits must
    /// be exceeded: a receiver on a long path waits for its packets.
    pub fn is_late(&self, variation: Duration, path: Duration) -> bool {
        variation > self.variation && path.saturating_add(variation) > self.delay
    }

    /// Whether a sample meets it.
    pub fn is_kept_by(&self, sample: &Sample, path: Duration) -> bool {
        let expected = f64::from(sample.received) + f64::from(sample.lost);
        !self.is_late(sample.variation, path) && f64::from(sample.lost) <= self.loss * expected
    }
}

/// The terms by which the packets of a stream are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The required quality.
    pub quality: Quality,
    /// The sampling interval: `T_RTP` in the paper.
    pub interval: Duration,
    /// The minimum one-way delay of the path's legs.
    pub path: Duration,
    /// The excess of the next leg's one-way delay over its minimum, by the last round trip over it.
    pub ahead: Duration,
    /// The queueing delay on the hop ahead.
    pub queue: Duration,
}

impl Terms {
    /// Whether a packet can no longer arrive in time that takes `variation` longer than the
    /// stream's fastest packets, including the queue ahead.
    pub fn is_late(&self, variation: Duration) -> bool {
        self.quality.is_late(variation, self.path_beside(variation))
    }

    /// Whether a sample meets the terms.
    pub fn are_kept_by(&self, sample: &Sample) -> bool {
        self.quality.is_kept_by(sample, self.path_beside(sample.variation))
    }

    /// The delay of the path without `variation`, which may include a part of the next leg's
    /// excess.
    fn path_beside(&self, variation: Duration) -> Duration {
        self.path.saturating_add(self.ahead.saturating_sub(variation))
    }
}

/// The record of a stream for one sampling interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Received packets.
    pub received: u32,
    /// Missing packets, by their sequence numbers.
    pub lost: u32,
    /// The excess of the longest delay over the minimum.
    pub variation: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUALITY: Quality =
        Quality { delay: Duration::from_millis(150), variation: Duration::from_millis(60), loss: 0.01 };

    #[test]
    fn a_packet_is_late_if_it_exceeds_the_delay_and_the_playout_buffer() {
        let late =
            |variation, path| QUALITY.is_late(Duration::from_millis(variation), Duration::from_millis(path));
        assert!(!late(60, 400), "the receiver's buffer covers it");
        assert!(!late(100, 50), "it arrives within the agreed delay");
        assert!(late(101, 50) && late(61, 400) && late(151, 0));
    }

    #[test]
    fn the_excess_of_the_next_leg_counts_once() {
        let ms = Duration::from_millis;
        let terms = |ahead| Terms {
            quality: QUALITY,
            interval: ms(200),
            path: ms(20),
            ahead: ms(ahead),
            queue: Duration::ZERO,
        };
        assert!(!terms(0).is_late(ms(100)) && !terms(100).is_late(ms(100)), "the same delay, seen twice");
        assert!(terms(131).is_late(ms(100)), "it arrives after 151 ms");
        assert!(!terms(500).is_late(ms(60)), "the receiver's buffer covers the variation");
    }

    #[test]
    fn a_sample_keeps_the_quality_by_delay_and_loss() {
        let sample = |received, lost, variation| {
            let sample = Sample { received, lost, variation: Duration::from_millis(variation) };
            QUALITY.is_kept_by(&sample, Duration::from_millis(20))
        };
        assert!(sample(99, 1, 10) && sample(100, 0, 130) && sample(0, 0, 0));
        assert!(!sample(98, 2, 10) && !sample(100, 0, 131));
    }
}
