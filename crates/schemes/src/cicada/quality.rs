//! The agreed quality of a call, and whether a sample keeps it.
//!
//! The paper has an access point hold a stream against a quality that was agreed on, and learn it from
//! RTP and RTCP. Neither carries one: ends agree by SDP (RFC 4566), in messages that no access point
//! need see. Here it is what an operator sets, the same for all calls.

use std::time::Duration;

/// What a call's packets are to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Delay from one end to the other, as far as it is known.
    pub delay: Duration,
    /// How much longer than the stream's least delay a packet may take: what a receiver's playout
    /// buffer makes good.
    pub variation: Duration,
    /// Share of packets that may be missing, 0 to 1.
    pub loss: f64,
}

impl Quality {
    /// Whether a packet can no longer arrive in time: one that took `variation` longer than the
    /// stream's least delay, on a path whose legs take `path` one way at their best. Both have to
    /// be too long: a receiver on a long path waits for its packets.
    pub fn is_late(&self, variation: Duration, path: Duration) -> bool {
        variation > self.variation && path.saturating_add(variation) > self.delay
    }

    /// Whether a sample keeps it.
    pub fn is_kept_by(&self, sample: &Sample, path: Duration) -> bool {
        let expected = f64::from(sample.received) + f64::from(sample.lost);
        !self.is_late(sample.variation, path) && f64::from(sample.lost) <= self.loss * expected
    }
}

/// What the packets of a stream are held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What they are to keep.
    pub quality: Quality,
    /// How often that is looked at: `T_RTP` in the paper.
    pub interval: Duration,
    /// How long the legs of their path take one way at their best.
    pub path: Duration,
    /// How much longer than at its best the leg ahead takes now, by the last round trip over it.
    pub ahead: Duration,
    /// How long a packet waits in the queue of the hop ahead.
    pub queue: Duration,
}

impl Terms {
    /// Whether a packet can no longer arrive in time, that takes this much longer than the stream's
    /// quickest packets, the queue ahead included.
    pub fn is_late(&self, variation: Duration) -> bool {
        self.quality.is_late(variation, self.path_beside(variation))
    }

    /// Whether a sample keeps them.
    pub fn are_kept_by(&self, sample: &Sample) -> bool {
        self.quality.is_kept_by(sample, self.path_beside(sample.variation))
    }

    /// What the path takes beside this variation, of which what the leg ahead takes longer may be a part.
    fn path_beside(&self, variation: Duration) -> Duration {
        self.path.saturating_add(self.ahead.saturating_sub(variation))
    }
}

/// What was seen of a stream for one sampling interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Packets that came.
    pub received: u32,
    /// Packets that did not, by their sequence numbers.
    pub lost: u32,
    /// How much longer than the least one the longest delay was.
    pub variation: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUALITY: Quality =
        Quality { delay: Duration::from_millis(150), variation: Duration::from_millis(60), loss: 0.01 };

    #[test]
    fn a_packet_is_late_if_it_is_late_for_the_ends_and_for_the_playout_buffer() {
        let late =
            |variation, path| QUALITY.is_late(Duration::from_millis(variation), Duration::from_millis(path));
        assert!(!late(60, 400), "the receiver's buffer covers it");
        assert!(!late(100, 50), "it arrives within the agreed delay");
        assert!(late(101, 50) && late(61, 400) && late(151, 0));
    }

    #[test]
    fn what_the_leg_ahead_takes_longer_now_counts_once() {
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
