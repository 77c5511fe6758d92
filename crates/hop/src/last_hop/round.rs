//! Measurements over about two round trips of the hop: the octets on it, the round-trip time, and
//! the throughput.

use std::time::Duration;

use lasthop_packet::Instant;

use super::progress::Progress;

/// Minimum number of samples in a mean round-trip time: enough that one delayed ACK or a varying
/// delay hardly shows.
pub(super) const SAMPLES: u32 = 8;

/// A round in progress. Its first sample left after its start. It ends with a sample that left
/// after the first one came, and has at least [`SAMPLES`]. So every sample left under the present
/// window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    start: Instant,
    /// When the first sample came, and counting began.
    sampled: Option<Instant>,
    samples: Samples,
    delivered: u64,
    lost: u64,
    acks: u64,
    /// ACKs that came while packets waited here.
    acks_waiting: u64,
    /// Octets on the hop just before each ACK, summed.
    in_flight: u64,
}

/// The results of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Mean octets on the hop.
    pub in_flight: u64,
    /// The mean round-trip time.
    pub rtt: Duration,
    /// The standard deviation of the round-trip time.
    pub deviation: Duration,
    /// Octets delivered.
    pub delivered: u64,
    /// Octets found lost.
    pub lost: u64,
    /// Octets delivered per second.
    pub rate: u64,
    /// Octets a second that get through by Little's law: the octets on the hop that are not lost,
    /// divided by the round-trip time. It varies less than `rate`, which bunched ACKs quantize.
    pub throughput: u64,
    /// Whether packets waited here most of the time: then the window was the limit.
    pub is_limited: bool,
}

impl Round {
    /// A round that starts at `start`, now or later.
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            sampled: None,
            samples: Samples::default(),
            delivered: 0,
            lost: 0,
            acks: 0,
            acks_waiting: 0,
            in_flight: 0,
        }
    }

    /// Records what an ACK showed, the octets on the hop now, and whether packets wait.
    pub fn on_progress(&mut self, progress: &Progress, in_flight: u64, is_waiting: bool, now: Instant) {
        if now < self.start {
            return;
        }
        self.acks += 1;
        self.acks_waiting += u64::from(is_waiting);
        self.in_flight += in_flight + progress.delivered + progress.lost;
        if self.sampled.is_some() {
            self.delivered += progress.delivered;
            self.lost += progress.lost;
        }
    }

    /// Records a sample. Returns the results if the round ends with it.
    pub fn on_sample(&mut self, rtt: Duration, sent: Instant, now: Instant) -> Option<Measured> {
        if sent < self.start {
            return None;
        }
        let sampled = *self.sampled.get_or_insert(now);
        self.samples.add(rtt);
        if sent < sampled || self.samples.count < SAMPLES {
            return None;
        }
        let measured = self.measured(now.since(sampled));
        *self = Self::new(now);
        Some(measured)
    }

    /// The results; octets were counted for `time`.
    fn measured(&self, time: Duration) -> Measured {
        let in_flight = self.in_flight / self.acks.max(1);
        let rtt = self.samples.mean();
        let arrives = share(in_flight, self.delivered, self.lost);
        Measured {
            in_flight,
            rtt,
            deviation: self.samples.deviation(),
            delivered: self.delivered,
            lost: self.lost,
            rate: per_second(self.delivered, time),
            throughput: per_second(arrives, rtt),
            is_limited: 2 * self.acks_waiting >= self.acks,
        }
    }
}

/// The part of `octets` that arrives, where `delivered` other octets arrived and `lost` did not.
pub(super) fn share(octets: u64, delivered: u64, lost: u64) -> u64 {
    let of = u128::from(delivered) + u128::from(lost);
    (u128::from(octets) * u128::from(delivered) / of.max(1)) as u64
}

fn per_second(octets: u64, time: Duration) -> u64 {
    u64::try_from(u128::from(octets) * 1_000_000_000 / time.as_nanos().max(1)).unwrap_or(u64::MAX)
}

/// Samples of the round-trip time: number, sum in microseconds, and sum of the squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Samples {
    pub count: u32,
    sum: u64,
    squares: u64,
}

impl Samples {
    pub fn add(&mut self, rtt: Duration) {
        let micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(micros);
        self.squares = self.squares.saturating_add(micros.saturating_mul(micros));
    }

    pub fn mean(&self) -> Duration {
        Duration::from_micros(self.sum / u64::from(self.count.max(1)))
    }

    fn deviation(&self) -> Duration {
        let count = u64::from(self.count.max(1));
        let mean = self.sum / count;
        let variance = (self.squares / count).saturating_sub(mean.saturating_mul(mean));
        Duration::from_micros(variance.isqrt())
    }
}
