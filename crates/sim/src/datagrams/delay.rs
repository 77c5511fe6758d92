//! One-way delays: their mean, a quantile, and the interarrival jitter, in a bounded place.

use lasthop_packet::Instant;

/// One-way delays of datagrams from the application's write to its reading, each datagram's first
/// arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayOutcome {
    /// The mean, in seconds.
    pub mean_s: f64,
    /// The 95th percentile, in seconds; within 0.4%.
    pub p95_s: f64,
    /// The longest, in seconds.
    pub max_s: f64,
    /// The interarrival jitter at the last arrival, in seconds (RFC 3550, section 6.4.1).
    pub jitter_s: f64,
}

#[derive(Debug, Default)]
pub(super) struct Delays {
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
    jitter: f64,
    last: u64,
    /// Counts by [`bucket`]; as long as the longest delay needs, at most 7,424 of them.
    histogram: Vec<u64>,
}

/// Buckets a doubling: each is 1/128 of its doubling's start wide.
const BITS: u32 = 7;

impl Delays {
    pub(super) fn take(&mut self, sent: Instant, arrived: Instant) {
        let delay = u64::try_from(arrived.since(sent).as_nanos()).unwrap_or(u64::MAX);
        if self.count == 0 {
            (self.least, self.most) = (delay, delay);
        } else {
            //= RFC 3550, section 6.4.1: J = J + (|D(i-1,i)| - J) / 16, where D is the difference of the two's transit times.
            self.jitter += (self.last.abs_diff(delay) as f64 - self.jitter) / 16.0;
            (self.least, self.most) = (self.least.min(delay), self.most.max(delay));
        }
        self.last = delay;
        self.count += 1;
        self.sum += u128::from(delay);
        let bucket = bucket(delay);
        if bucket >= self.histogram.len() {
            self.histogram.resize(bucket + 1, 0);
        }
        self.histogram[bucket] += 1;
    }

    pub(super) fn outcome(&self) -> Option<DelayOutcome> {
        (self.count > 0).then(|| DelayOutcome {
            mean_s: self.sum as f64 / self.count as f64 / 1e9,
            p95_s: self.quantile(0.95) / 1e9,
            max_s: self.most as f64 / 1e9,
            jitter_s: self.jitter / 1e9,
        })
    }

    /// The delay that this share of all does not exceed, in nanoseconds: the middle of its bucket.
    fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut before = 0;
        let found = self.histogram.iter().position(|count| {
            before += count;
            before >= rank
        });
        let middle = found.map_or(self.most as f64, middle);
        middle.clamp(self.least as f64, self.most as f64)
    }
}

/// Which bucket a delay goes to: each has its own below 128 ns, from there on they are 1/128 of a
/// power of two wide.
fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS + 1);
    ((shift << BITS) as usize) + (nanos >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let (first, width) = (bucket - (shift << BITS), (1_u64 << shift) as f64);
    first as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(nanos: impl IntoIterator<Item = u64>) -> Delays {
        let mut delays = Delays::default();
        for (number, delay) in nanos.into_iter().enumerate() {
            let sent = Instant::from_millis(20 * number as u64);
            delays.take(sent, sent.after_nanos(delay));
        }
        delays
    }

    #[test]
    fn jitter_is_that_of_rfc_3550_by_hand() {
        // Transit times of 10, 26, 26 and 10 ms: |D| = 16, 0, 16; J = 1, 0.9375, 1.87890625 ms.
        let outcome = delays([10_000_000, 26_000_000, 26_000_000, 10_000_000]).outcome().expect("four");
        assert!((outcome.jitter_s - 0.001_878_906_25).abs() < 1e-15, "{outcome:?}");
        assert!((outcome.mean_s - 0.018).abs() < 1e-15 && (outcome.max_s - 0.026).abs() < 1e-15);
    }

    #[test]
    fn a_constant_delay_is_its_own_quantile_and_has_no_jitter() {
        let outcome = delays([12_345_678; 100]).outcome().expect("a hundred");
        assert_eq!((outcome.p95_s, outcome.jitter_s), (0.012_345_678, 0.0));
        assert_eq!(Delays::default().outcome(), None);
    }

    #[test]
    fn a_quantile_is_close() {
        let outcome = delays((1..=100_000).map(|n| n * 1_000)).outcome().expect("many");
        assert!((outcome.p95_s / 0.095 - 1.0).abs() < 0.004, "{outcome:?}");
    }

    #[test]
    fn every_delay_has_a_bucket_around_it_and_the_last_is_bounded() {
        for shift in 0..64 {
            for nanos in [1u64 << shift, (1u64 << shift) | (1u64 << shift >> 3), (1u64 << shift) - 1] {
                let middle = middle(bucket(nanos));
                assert!((middle - nanos as f64).abs() <= nanos as f64 / 256.0 + 0.5, "{nanos}: {middle}");
            }
        }
        assert_eq!(bucket(u64::MAX), 7423);
    }
}
