//! Statistics of durations in bounded memory: mean, variance and quantiles.

use std::fmt;
use std::time::Duration;

use lasthop_packet::time::nanos;

/// Statistics of a series of durations, such as delays of datagrams or load times of pages. They
/// use at most 60 kB, independent of the number of durations.
#[derive(Clone, Default, PartialEq)]
pub struct Durations {
    count: u64,
    /// In nanoseconds, like all fields below.
    sum: u128,
    shortest: u64,
    longest: u64,
    /// The mean, by Welford's recurrence: the variance of small deviations from a large mean stays
    /// exact.
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
    /// Counts by [`bucket`], up to the bucket of the longest duration; at most 7,424 of them.
    histogram: Vec<u64>,
}

/// The binary logarithm of the number of buckets per octave: the width of each is 1/128 of the
/// octave's start.
const BITS: u32 = 7;

impl Durations {
    /// Records a duration.
    pub fn take(&mut self, duration: Duration) {
        self.take_nanos(nanos(duration));
    }

    /// Records a duration in nanoseconds.
    pub fn take_nanos(&mut self, nanos: u64) {
        if self.count == 0 {
            (self.shortest, self.longest) = (nanos, nanos);
        }
        (self.shortest, self.longest) = (self.shortest.min(nanos), self.longest.max(nanos));
        self.count += 1;
        self.sum += u128::from(nanos);
        let deviation = nanos as f64 - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (nanos as f64 - self.mean);
        let bucket = bucket(nanos);
        if bucket >= self.histogram.len() {
            self.histogram.resize(bucket + 1, 0);
        }
        self.histogram[bucket] += 1;
    }

    /// The number of durations.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean, in seconds; `None` without durations.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }

    /// The variance (that of the recorded durations, not an estimate of a population's), in seconds
    /// squared; `None` without durations.
    pub fn variance_s2(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).max(0.0) / 1e18)
    }

    /// The shortest duration, in seconds; `None` without durations.
    pub fn min_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.shortest as f64 / 1e9)
    }

    /// The longest duration, in seconds; `None` without durations.
    pub fn max_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.longest as f64 / 1e9)
    }

    /// The quantile `share`, 0 to 1, in seconds, within 0.4%; `None` without durations.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut before = 0;
        let found = self.histogram.iter().position(|count| {
            before += count;
            before >= rank
        });
        let middle = found.map_or(self.longest as f64, middle);
        Some(middle.clamp(self.shortest as f64, self.longest as f64) / 1e9)
    }

    /// The statistics of the durations recorded since `earlier`. The shortest and the longest are
    /// within 0.4%, like quantiles.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if earlier.count == 0 {
            return self.clone();
        }
        let count = self.count - earlier.count;
        if count == 0 {
            return Self::default();
        }
        let mut histogram = self.histogram.clone();
        for (ours, theirs) in histogram.iter_mut().zip(&earlier.histogram) {
            *ours -= theirs;
        }
        let within = |bucket: Option<usize>| {
            let nanos = bucket.map_or(self.longest as f64, middle);
            nanos.clamp(self.shortest as f64, self.longest as f64) as u64
        };
        let shortest = within(histogram.iter().position(|count| *count > 0));
        let longest = within(histogram.iter().rposition(|count| *count > 0));
        let (ours, theirs, all) = (count as f64, earlier.count as f64, self.count as f64);
        let mean = (self.mean * all - earlier.mean * theirs) / ours;
        let difference = mean - earlier.mean;
        let squares = self.squares - earlier.squares - difference * difference * ours * theirs / all;
        Self { count, sum: self.sum - earlier.sum, shortest, longest, mean, squares, histogram }
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let (difference, all) = (other.mean - self.mean, ours + theirs);
        self.squares += other.squares + difference * difference * ours * theirs / all;
        self.mean += difference * theirs / all;
        (self.shortest, self.longest) = (self.shortest.min(other.shortest), self.longest.max(other.longest));
        self.count += other.count;
        self.sum += other.sum;
        if self.histogram.len() < other.histogram.len() {
            self.histogram.resize(other.histogram.len(), 0);
        }
        for (ours, theirs) in self.histogram.iter_mut().zip(&other.histogram) {
            *ours += theirs;
        }
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, shortest, longest, mean, .. } = self;
        let fields = [("least", *shortest as f64), ("mean", *mean), ("most", *longest as f64)];
        let mut shown = f.debug_struct("Durations");
        shown.field("count", count);
        for (name, nanos) in fields {
            shown.field(name, &(nanos / 1e9));
        }
        shown.finish_non_exhaustive()
    }
}

/// The bucket of a duration. Each duration below 128 ns has its own bucket; above, the width of a
/// bucket is 1/128 of a power of two.
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

    fn durations(nanos: impl IntoIterator<Item = u64>) -> Durations {
        let mut durations = Durations::default();
        nanos.into_iter().for_each(|nanos| durations.take(Duration::from_nanos(nanos)));
        durations
    }

    #[test]
    fn a_quantile_is_within_its_tolerance() {
        let p95 = durations((1..=100_000).map(|n| n * 1_000)).quantile_s(0.95).expect("many");
        assert!((p95 / 0.095 - 1.0).abs() < 0.004, "{p95}");
        assert_eq!(Durations::default().quantile_s(0.5), None);
    }

    #[test]
    fn the_variance_is_that_computed_by_hand_and_zero_for_a_constant() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, variance 4.
        let some = durations([2, 4, 4, 4, 5, 5, 7, 9].map(|ms| ms * 1_000_000));
        assert!((some.variance_s2().expect("eight") - 4e-6).abs() < 1e-18);
        assert_eq!((some.mean_s(), some.min_s(), some.max_s()), (Some(0.005), Some(0.002), Some(0.009)));
        assert_eq!(durations([12_345_678; 1000]).variance_s2(), Some(0.0));
    }

    #[test]
    fn merged_statistics_equal_those_of_all_durations() {
        let square = |n: u64| n * n % 7919 * 1000;
        let mut merged = durations((0..500).map(square));
        merged.merge(&durations((500..1700).map(square)));
        merged.merge(&Durations::default());
        let all = durations((0..1700).map(square));
        assert_eq!((merged.count(), merged.mean_s()), (all.count(), all.mean_s()));
        assert_eq!((merged.min_s(), merged.max_s()), (all.min_s(), all.max_s()));
        assert_eq!(merged.quantile_s(0.5), all.quantile_s(0.5));
        let (one, other) = (merged.variance_s2().expect("some"), all.variance_s2().expect("some"));
        assert!((one / other - 1.0).abs() < 1e-12, "{one} {other}");
    }

    #[test]
    fn statistics_since_an_earlier_time_equal_those_of_the_later_durations() {
        let square = |n: u64| 1_000_000 + n * n % 7919 * 1000;
        let earlier = durations((0..500).map(square));
        let since = durations((0..1700).map(square)).since(&earlier);
        let alone = durations((500..1700).map(square));
        assert_eq!((since.count(), since.mean_s()), (alone.count(), alone.mean_s()));
        assert_eq!(since.quantile_s(0.5), alone.quantile_s(0.5));
        let close = |one: Option<f64>, other: Option<f64>, within: f64| {
            (one.expect("some") / other.expect("some") - 1.0).abs() < within
        };
        assert!(close(since.variance_s2(), alone.variance_s2(), 1e-9));
        assert!(close(since.min_s(), alone.min_s(), 0.004));
        assert!(close(since.max_s(), alone.max_s(), 0.004));
        assert_eq!(earlier.since(&earlier), Durations::default());
        assert_eq!(earlier.since(&Durations::default()), earlier);
    }

    #[test]
    fn every_duration_is_near_the_middle_of_its_bucket_and_buckets_are_bounded() {
        for shift in 0..64 {
            for nanos in [1u64 << shift, (1u64 << shift) | (1u64 << shift >> 3), (1u64 << shift) - 1] {
                let middle = middle(bucket(nanos));
                assert!((middle - nanos as f64).abs() <= nanos as f64 / 256.0 + 0.5, "{nanos}: {middle}");
            }
        }
        assert_eq!(bucket(u64::MAX), 7423);
    }
}
