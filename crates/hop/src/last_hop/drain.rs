//! The queue behind the agent is let run empty and kept so for a while: what the hop's round trip
//! is without one, and what the hop itself loses.

use std::time::Duration;

use lasthop_packet::Instant;

use super::progress::Progress;
use super::round::{SAMPLES, Samples};

/// A drain under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    /// Octets a second that got through before it began.
    pub throughput: u64,
    /// It ends with the first sample after this.
    until: Instant,
    /// Samples count that left after this; `None` while the queue is running empty.
    since: Option<Instant>,
    samples: Samples,
    /// Octets delivered and lost since the first sample.
    delivered: u64,
    lost: u64,
    /// What these two have to come to; 0 where losses are not what it is for.
    enough: u64,
}

impl Drain {
    /// Until then at the latest, and until `enough` octets were delivered or lost.
    pub fn new(throughput: u64, until: Instant, enough: u64) -> Self {
        Self { throughput, until, since: None, samples: Samples::default(), delivered: 0, lost: 0, enough }
    }

    /// The same once more.
    pub fn again(&self) -> Self {
        Self::new(self.throughput, self.until, self.enough)
    }

    /// Takes note of what an ACK showed, sample or not.
    pub const fn on_progress(&mut self, progress: &Progress) {
        if self.samples.count > 0 {
            self.delivered += progress.delivered;
            self.lost += progress.lost;
        }
    }

    /// Takes in a sample; `is_drained` if no more is on the hop than is to be. Returns whether the
    /// drain ends.
    pub fn on_sample(&mut self, (rtt, sent): (Duration, Instant), is_drained: bool, now: Instant) -> bool {
        match self.since {
            None if is_drained => self.since = Some(now),
            Some(since) if sent >= since => self.samples.add(rtt),
            _ => {}
        }
        let is_enough = self.samples.count >= SAMPLES && self.delivered + self.lost >= self.enough;
        is_enough || now >= self.until
    }

    /// The mean round-trip time of the drained hop, if there was a sample.
    pub fn round_trip(&self) -> Option<Duration> {
        (self.samples.count > 0).then(|| self.samples.mean())
    }

    /// Octets lost for each 256 delivered, up to 1,024.
    pub fn losses(&self) -> u64 {
        (self.lost.saturating_mul(256) / self.delivered.max(1)).min(1024)
    }

    /// Whether it was long enough for [`Self::losses`] to be more than a few samples.
    pub const fn measures_losses(&self) -> bool {
        self.enough > 0
    }
}
