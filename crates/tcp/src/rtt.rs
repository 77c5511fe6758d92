//! Round-trip time and retransmission time-out.

mod config;
mod estimate;

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::flight::Flight;
pub use config::{RtoConfig, RtoRule};
use estimate::Estimate;

/// Estimates the round-trip time and derives RTO (RFC 6298), with Karn's rule and exponential
/// back-off.
///
/// One segment is timed at a time, as in 4.3BSD; with timestamps, they are used instead.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    estimate: Option<Estimate>,
    latest: Option<Duration>,
    samples: RttSamples,
    timed: Option<TimedSegment>,
    timeouts_in_a_row: u32,
    /// Derived from `config`, `estimate` and `timeouts_in_a_row`; kept because it is used at every ACK
    /// and changes rarely.
    rto: Duration,
}

/// The sum of the samples of the round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttSamples {
    total: Duration,
    number: u32,
}

impl RttSamples {
    /// The samples since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { total: self.total.saturating_sub(earlier.total), number: self.number - earlier.number }
    }

    /// The number of samples.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The mean; `None` without samples.
    pub fn mean(self) -> Option<Duration> {
        (self.number > 0).then(|| self.total / self.number)
    }
}

#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    seq: Seq,
    sent: Instant,
}

impl RttEstimator {
    /// Without a measurement.
    pub fn new(config: RtoConfig) -> Self {
        let mut estimator = Self {
            config,
            estimate: None,
            latest: None,
            samples: RttSamples::default(),
            timed: None,
            timeouts_in_a_row: 0,
            rto: Duration::ZERO,
        };
        estimator.update_rto();
        estimator
    }

    /// With the smoothed round-trip time and variation (RTTVAR of RFC 6298) of another estimator.
    pub fn known(config: RtoConfig, srtt: Duration, variation: Duration) -> Self {
        let estimate = Some(Estimate::known(srtt, variation, &config));
        let mut estimator = Self { estimate, ..Self::new(config) };
        estimator.update_rto();
        estimator
    }

    /// The arguments of [`Self::known`], if anything was measured.
    pub fn estimate(&self) -> Option<(Duration, Duration)> {
        self.estimate.map(|estimate| (estimate.srtt(), estimate.variation()))
    }

    /// Whether retransmitted segments are timed ([`RtoConfig::times_copies`]).
    pub(crate) const fn times_copies(&self) -> bool {
        self.config.times_copies
    }

    /// Starts timing the segment at `seq`, unless another is being timed.
    #[inline]
    pub fn time_segment(&mut self, seq: Seq, now: Instant) {
        if self.timed.is_none() {
            self.timed = Some(TimedSegment { seq, sent: now });
        }
    }

    /// Stops timing after a retransmission: the original cannot be distinguished from its copy.
    ///
    //= RFC 6298, section 3: "RTT samples MUST NOT be made using segments that were retransmitted".
    pub const fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Takes a sample if `ack` covers the timed segment. Returns the exact time.
    #[inline]
    pub fn on_ack(&mut self, ack: Seq, now: Instant, flight: &Flight) -> Option<Duration> {
        let sent = self.take_timed(ack)?;
        self.sample(sent, now, flight);
        Some(now.since(sent))
    }

    /// The time of sending of the timed segment, if `ack` covers it; ends its timing.
    #[inline]
    pub fn take_timed(&mut self, ack: Seq) -> Option<Instant> {
        let timed = self.timed.filter(|timed| ack.after(timed.seq))?;
        self.timed = None;
        Some(timed.sent)
    }

    /// Takes a sample: the time from `sent` to `now` in whole ticks of the clock. Returns it.
    pub fn sample(&mut self, sent: Instant, now: Instant, flight: &Flight) -> Duration {
        let tick = self.config.granularity.as_nanos() as u64;
        let ticks = |at: Instant| at.as_nanos().checked_div(tick);
        let rtt = match (ticks(now), ticks(sent)) {
            (Some(now), Some(sent)) => Duration::from_nanos(now.saturating_sub(sent) * tick),
            _ => now.since(sent),
        };
        match &mut self.estimate {
            None => self.estimate = Some(Estimate::first(rtt, &self.config, flight)),
            Some(estimate) => estimate.update(rtt, &self.config, flight),
        }
        self.latest = Some(rtt);
        self.samples.total += rtt;
        self.samples.number += 1;
        self.timeouts_in_a_row = 0;
        self.update_rto();
        rtt
    }

    /// The retransmission timer expired: RTO doubles until the next sample.
    pub fn back_off(&mut self) {
        self.timed = None;
        self.timeouts_in_a_row += 1;
        self.update_rto();
    }

    /// The peer's window opened: ends the back-off of window probes.
    pub fn stop_probing(&mut self) {
        self.timeouts_in_a_row = 0;
        self.update_rto();
    }

    /// Time-outs since the last sample: the number of times RTO is doubled.
    pub const fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    /// The retransmission time-out, backed off and within its bounds.
    #[inline]
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    fn update_rto(&mut self) {
        let rto = self.estimate.map_or(self.config.initial, |estimate| estimate.rto(&self.config));
        let rto = rto.max(self.config.minimum);
        if self.timeouts_in_a_row == 0 {
            self.rto = rto.min(self.config.maximum);
            return;
        }
        let factor = 1u32 << self.timeouts_in_a_row.min(20);
        let longest = self.config.longest_back_off.map_or(Duration::MAX, |longest| longest.max(rto));
        self.rto = rto.saturating_mul(factor).min(longest).min(self.config.maximum);
    }

    /// The expiry of a timer that is started now: after RTO, on a tick of the clock.
    #[inline]
    pub fn expiry(&self, now: Instant) -> Instant {
        (now + self.rto).round_up_to(self.config.granularity)
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.srtt())
    }

    /// All samples.
    pub const fn samples(&self) -> RttSamples {
        self.samples
    }

    /// The latest sample.
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight() -> Flight {
        let (una, peer_window, mss) = (Seq(0), 65_535, 1000);
        Flight { una, nxt: una, max: una, peer_window, mss, cwnd: mss, ssthresh: peer_window }
    }

    fn estimator(granularity_ms: u64, minimum_ms: u64) -> RttEstimator {
        RttEstimator::new(RtoConfig {
            granularity: Duration::from_millis(granularity_ms),
            minimum: Duration::from_millis(minimum_ms),
            ..RtoConfig::default()
        })
    }

    #[test]
    fn rto_follows_rfc_6298() {
        let mut rtt = estimator(1, 0);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Instant::ZERO, Instant::from_millis(100), &flight());
        assert_eq!(rtt.rto(), Duration::from_millis(100 + 4 * 50));
        rtt.sample(Instant::ZERO, Instant::from_millis(180), &flight());
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(rtt.rto(), Duration::from_millis(110 + 4 * 115 / 2));
    }

    #[test]
    fn rto_has_a_minimum_and_doubles_up_to_its_maximum_until_the_next_sample() {
        let mut rtt = estimator(1, 1000);
        rtt.sample(Instant::ZERO, Instant::from_millis(10), &flight());
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        for expected in [2, 4, 8, 16, 32, 64, 64, 64] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        rtt.sample(Instant::ZERO, Instant::from_millis(10), &flight());
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    #[test]
    fn back_off_ends_at_its_limit_or_at_the_rto_itself() {
        let mut rtt = RttEstimator::new(RtoConfig {
            minimum: Duration::ZERO,
            maximum: Duration::from_secs(60),
            longest_back_off: Some(Duration::from_secs(1)),
            ..RtoConfig::default()
        });
        rtt.sample(Instant::ZERO, Instant::from_millis(100), &flight());
        for expected in [600, 1000, 1000] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_millis(expected));
        }
        let mut rtt = RttEstimator::known(rtt.config, Duration::from_secs(2), Duration::ZERO);
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_millis(2001));
    }

    #[test]
    fn a_segment_is_not_timed_across_a_retransmission() {
        let mut rtt = estimator(1, 0);
        rtt.time_segment(Seq(1), Instant::ZERO);
        rtt.time_segment(Seq(9), Instant::from_millis(5));
        assert_eq!(
            rtt.on_ack(Seq(1), Instant::from_millis(8), &flight()),
            None,
            "only an ACK above it counts"
        );
        assert_eq!(rtt.on_ack(Seq(2), Instant::from_millis(9), &flight()), Some(Duration::from_millis(9)));
        rtt.time_segment(Seq(10), Instant::from_millis(20));
        rtt.stop_timing();
        assert_eq!(rtt.on_ack(Seq(20), Instant::from_millis(30), &flight()), None);
    }

    #[test]
    fn a_coarse_clock_counts_ticks_and_expires_on_one() {
        let mut rtt = estimator(500, 1000);
        assert_eq!(
            rtt.sample(Instant::from_millis(499), Instant::from_millis(501), &flight()),
            Duration::from_millis(500)
        );
        assert_eq!(
            rtt.sample(Instant::from_millis(501), Instant::from_millis(999), &flight()),
            Duration::ZERO
        );
        assert_eq!(rtt.expiry(Instant::from_millis(1)).as_millis() % 500, 0);
    }
}
