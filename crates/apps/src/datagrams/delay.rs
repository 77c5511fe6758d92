//! One-way delays: their distribution, and the interarrival jitter.

use lasthop_packet::Instant;
use lasthop_packet::time::nanos;

use crate::durations::Durations;

/// One-way delays of datagrams, from the sender's write to the receiver's read of the first copy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayOutcome {
    /// The mean, in seconds.
    pub mean_s: f64,
    /// The variance, in seconds squared.
    pub variance_s2: f64,
    /// The shortest, in seconds.
    pub min_s: f64,
    /// The median, in seconds; within 0.4%.
    pub median_s: f64,
    /// The 95th percentile, in seconds; within 0.4%.
    pub p95_s: f64,
    /// The longest, in seconds.
    pub max_s: f64,
    /// The interarrival jitter at the last arrival, in seconds (RFC 3550, section 6.4.1).
    pub jitter_s: f64,
}

#[derive(Debug, Default)]
pub struct Delays {
    durations: Durations,
    jitter: f64,
    last: u64,
}

impl Delays {
    pub(super) fn take(&mut self, sent: Instant, arrived: Instant) {
        let delay = nanos(arrived.since(sent));
        if self.durations.count() > 0 {
            //= RFC 3550, section 6.4.1: J = J + (|D(i-1,i)| - J) / 16, where D is the difference of the two's transit times.
            self.jitter += (self.last.abs_diff(delay) as f64 - self.jitter) / 16.0;
        }
        self.last = delay;
        self.durations.take_nanos(delay);
    }

    pub const fn durations(&self) -> &Durations {
        &self.durations
    }

    /// The interarrival jitter, in nanoseconds.
    pub const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// The outcome since `earlier`; `None` without arrivals.
    pub fn outcome(&self, earlier: &Durations) -> Option<DelayOutcome> {
        let of = self.durations.since(earlier);
        Some(DelayOutcome {
            mean_s: of.mean_s()?,
            variance_s2: of.variance_s2()?,
            min_s: of.min_s()?,
            median_s: of.quantile_s(0.5)?,
            p95_s: of.quantile_s(0.95)?,
            max_s: of.max_s()?,
            jitter_s: self.jitter / 1e9,
        })
    }
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
    fn jitter_equals_that_of_rfc_3550_computed_by_hand() {
        // Transit times of 10, 26, 26 and 10 ms: |D| = 16, 0, 16; J = 1, 0.9375, 1.87890625 ms.
        let outcome = delays([10_000_000, 26_000_000, 26_000_000, 10_000_000])
            .outcome(&Durations::default())
            .expect("four");
        assert!((outcome.jitter_s - 0.001_878_906_25).abs() < 1e-15, "{outcome:?}");
        assert!((outcome.mean_s - 0.018).abs() < 1e-15 && (outcome.max_s - 0.026).abs() < 1e-15);
        assert!((outcome.variance_s2 - 64e-6).abs() < 1e-15, "{outcome:?}");
    }

    #[test]
    fn a_constant_delay_is_its_own_quantile_and_has_no_jitter() {
        let outcome = delays([12_345_678; 100]).outcome(&Durations::default()).expect("a hundred");
        assert_eq!((outcome.p95_s, outcome.jitter_s, outcome.variance_s2), (0.012_345_678, 0.0, 0.0));
        assert_eq!(Delays::default().outcome(&Durations::default()), None);
    }
}
