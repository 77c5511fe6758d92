//! The pacing rate (draft-ietf-ccwg-bbr, section 5.6.2).

use std::time::Duration;

use super::rate::per_second;
use crate::congestion::Pacing;

/// The round-trip time assumed before the first measurement.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate, in octets per second, single segments are sent instead of pairs
/// (`bbr_min_tso_rate`).
const MIN_RATE_OF_PAIRS: u64 = 1_200_000 / 8;
/// The largest burst, in segments (`bbr_tso_segs_goal`) and octets.
const MAX_BURST_SEGMENTS: u64 = 127;
const MAX_BURST_OCTETS: u64 = 65_215;
/// Bursts per second at the pacing rate.
const BURSTS_PER_SECOND: u64 = 1024;

/// A pacing rate, in octets per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacingRate {
    rate: u64,
    has_rtt: bool,
}

impl PacingRate {
    //= draft-ietf-ccwg-bbr, section 5.6.2: at first the initial window in a round trip, times the gain.
    pub(super) fn begin(&mut self, cwnd: u32, srtt: Option<Duration>, gain: impl Fn(u64) -> u64) {
        self.has_rtt = srtt.is_some();
        let rtt = srtt.unwrap_or(NOMINAL_RTT).max(Duration::from_micros(1));
        self.rate = with_margin(gain(per_second(u64::from(cwnd), rtt)));
    }

    /// Sets the rate again as soon as the first round-trip time is known.
    pub(super) fn on_rtt(&mut self, cwnd: u32, srtt: Option<Duration>, gain: impl Fn(u64) -> u64) {
        if !self.has_rtt && srtt.is_some() {
            self.begin(cwnd, srtt, gain);
        }
    }

    /// Sets the rate to the bandwidth times its gain. Until the pipe is full, the rate only grows;
    /// before the first measurement of the bandwidth, it is unchanged.
    ///
    //= draft-ietf-ccwg-bbr, section 5.6.2: SetPacingRateWithGain ().
    pub(super) const fn set(&mut self, bandwidth_with_gain: u64, is_full: bool) {
        let rate = with_margin(bandwidth_with_gain);
        if rate > self.rate || (is_full && rate > 0) {
            self.rate = rate;
        }
    }

    pub(super) const fn get(&self) -> Pacing {
        let min_burst = if self.rate < MIN_RATE_OF_PAIRS { 1 } else { 2 };
        Pacing { rate: if self.rate > 0 { self.rate } else { 1 }, min_burst }
    }

    //= draft-ietf-ccwg-bbr, section 5.6.3: SetSendQuantum ().
    pub(super) fn send_quantum(&self, mss: u32) -> u64 {
        (self.get().rate / 1000).min(64 * 1024).max(2 * u64::from(mss))
    }

    /// Segments sent at once (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self, mss: u32) -> u64 {
        let octets = (self.rate / BURSTS_PER_SECOND).min(MAX_BURST_OCTETS);
        (octets / u64::from(mss)).max(u64::from(self.get().min_burst)).min(MAX_BURST_SEGMENTS)
    }
}

/// Takes 1% off the rate, so that no queue persists.
const fn with_margin(rate: u64) -> u64 {
    rate - rate / 100
}
