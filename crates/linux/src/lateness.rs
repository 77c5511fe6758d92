//! Lateness in a histogram of fixed size.

use std::time::Duration;

use lasthop_packet::time::nanos;
use serde::{Deserialize, Serialize};

/// Buckets per doubling: a value is known to one sixteenth.
const STEPS: u64 = 16;
const BUCKETS: usize = 61 * STEPS as usize;

/// Durations in buckets whose width grows with the duration; nothing is allocated after
/// construction.
#[derive(Clone, Debug)]
pub struct Lateness {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

/// A histogram in four numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatenessSummary {
    /// Number of packets.
    pub count: u64,
    /// Median, in microseconds; accurate to 7%.
    pub median_us: f64,
    /// 99th percentile, in microseconds; accurate to 7%.
    pub p99_us: f64,
    /// Maximum, in microseconds; exact.
    pub max_us: f64,
}

impl Lateness {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, max: 0 }
    }

    /// Adds a value.
    pub fn record(&mut self, late: Duration) {
        let nanos = nanos(late);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
    }

    /// The lateness, in nanoseconds, that this share does not exceed: the upper end of its bucket.
    fn quantile(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        reached.map_or(0, |bucket| upper_end(bucket).min(self.max))
    }

    /// The summary so far.
    pub fn summary(&self) -> LatenessSummary {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        LatenessSummary {
            count: self.count,
            median_us: micros(self.quantile(0.5)),
            p99_us: micros(self.quantile(0.99)),
            max_us: micros(self.max),
        }
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

/// Below `STEPS` one bucket per value; above it `STEPS` buckets per octave.
const fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let octave = nanos.ilog2() - STEPS.ilog2();
    (octave as u64 * STEPS + (nanos >> octave)) as usize
}

/// The maximum value of a bucket.
const fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let octave = bucket / STEPS - 1;
    let first = (bucket - octave * STEPS) << octave;
    first + ((1 << octave) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_one_begins() {
        for bucket_number in 0..BUCKETS - 1 {
            let end = upper_end(bucket_number);
            assert_eq!((bucket(end), bucket(end + 1)), (bucket_number, bucket_number + 1));
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_to_a_sixteenth() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.summary(), LatenessSummary::default());
        for micros in 1..=1000 {
            lateness.record(Duration::from_micros(micros));
        }
        let summary = lateness.summary();
        assert!((summary.median_us / 500.0 - 1.0).abs() < 0.07, "{summary:?}");
        assert!((summary.p99_us / 990.0 - 1.0).abs() < 0.07, "{summary:?}");
        assert!(summary.count == 1000 && (summary.max_us - 1000.0).abs() < 1e-9);
    }
}
