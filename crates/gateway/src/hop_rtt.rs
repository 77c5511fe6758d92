//! Round-trip times over the hop, one per connection, measured in its handshake. They do not depend
//! on a scheme.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The upper bounds of the buckets, in microseconds; a last bucket has all longer times.
const BOUNDS_US: [u64; 12] =
    [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000];

/// A histogram of the connections' round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HopRtts {
    /// Connections by bucket: up to 1, 2, 5, 10, ..., 5000 ms, and above.
    pub counts: [u64; BOUNDS_US.len() + 1],
    /// The sum of the round-trip times of all connections, in microseconds.
    pub sum_us: u64,
}

impl HopRtts {
    pub(super) fn count(&mut self, rtt: Duration) {
        let micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS_US.len());
        self.counts[bucket] += 1;
        self.sum_us = self.sum_us.saturating_add(micros);
    }

    /// Each upper bound, in seconds, with the number of connections that do not exceed it.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let ends = BOUNDS_US.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        ends.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        Self { sum_us: self.sum_us.saturating_add(other.sum_us), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_time_is_in_the_first_bucket_that_it_does_not_exceed() {
        let mut rtts = HopRtts::default();
        for micros in [0, 1_000, 1_001, 7_000, 6_000_000] {
            rtts.count(Duration::from_micros(micros));
        }
        let cumulative: Vec<u64> = rtts.cumulative().map(|(_, count)| count).collect();
        assert_eq!(cumulative, [2, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
        assert_eq!(rtts.sum_us, 6_009_001);
        assert_eq!(rtts.and(rtts).cumulative().last(), Some((f64::INFINITY, 10)));
    }
}
