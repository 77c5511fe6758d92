//! A drain lets the downstream queue run empty and keeps it so for a while, to measure the hop's
//! round trip without a queue, and the hop's own losses.

use std::time::Duration;

use lasthop_packet::Instant;

use super::progress::Progress;
use super::round::{SAMPLES, Samples};

/// A drain in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    /// Throughput before the drain, in octets a second.
    pub throughput: u64,
    /// The drain ends with the first sample after this time.
    until: Instant,
    /// Samples count if they left after this time; `None` while the queue is running empty.
    since: Option<Instant>,
    samples: Samples,
    /// Octets delivered and lost since the first sample.
    delivered: u64,
    lost: u64,
    /// The required sum of the two; 0 if the drain does not measure losses.
    enough: u64,
}

impl Drain {
    /// A drain that ends when `enough` octets were delivered or lost, at the latest at `until`.
    pub fn new(throughput: u64, until: Instant, enough: u64) -> Self {
        Self { throughput, until, since: None, samples: Samples::default(), delivered: 0, lost: 0, enough }
    }

    /// A new drain with the same parameters.
    pub fn again(&self) -> Self {
        Self::new(self.throughput, self.until, self.enough)
    }

    /// Records what an ACK showed, with or without a sample.
    pub const fn on_progress(&mut self, progress: &Progress) {
        if self.samples.count > 0 {
            self.delivered += progress.delivered;
            self.lost += progress.lost;
        }
    }

    /// Records a sample; `is_drained` if no more is on the hop than allowed. Returns whether the
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
