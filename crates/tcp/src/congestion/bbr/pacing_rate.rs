//! The rate at which segments leave (draft-ietf-ccwg-bbr, section 5.6.2).

use std::time::Duration;

use super::rate::per_second;
use crate::congestion::Pacing;

/// Without a round-trip time, one is assumed.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate, in octets a second, single segments leave, not pairs (`bbr_min_tso_rate`).
const PAIRS_FROM: u64 = 1_200_000 / 8;
/// The largest burst, in segments (`bbr_tso_segs_goal`) and octets.
const MOST_SEGMENTS: u64 = 127;
const MOST_OCTETS: u64 = 65_215;
/// A burst is what leaves in this part of a second.
const BURSTS_A_SECOND: u64 = 1024;

/// A rate, in octets a second.
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
        self.rate = below(gain(per_second(u64::from(cwnd), rtt)));
    }

    /// The first round-trip time was not known yet: the rate is set again when it is.
    pub(super) fn note_rtt(&mut self, cwnd: u32, srtt: Option<Duration>, gain: impl Fn(u64) -> u64) {
        if !self.has_rtt && srtt.is_some() {
            self.begin(cwnd, srtt, gain);
        }
    }

    /// The bandwidth with its gain; as long as the pipe is not full, the rate only grows. Before a
    /// bandwidth was measured, it stays what it is.
    ///
    //= draft-ietf-ccwg-bbr, section 5.6.2: SetPacingRateWithGain ().
    pub(super) const fn set(&mut self, bandwidth_with_gain: u64, is_full: bool) {
        let rate = below(bandwidth_with_gain);
        if rate > self.rate || (is_full && rate > 0) {
            self.rate = rate;
        }
    }

    pub(super) const fn get(&self) -> Pacing {
        let min_burst = if self.rate < PAIRS_FROM { 1 } else { 2 };
        Pacing { rate: if self.rate > 0 { self.rate } else { 1 }, min_burst }
    }

    /// Segments that leave at once (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self, mss: u32) -> u64 {
        let octets = (self.rate / BURSTS_A_SECOND).min(MOST_OCTETS);
        (octets / u64::from(mss)).max(u64::from(self.get().min_burst)).min(MOST_SEGMENTS)
    }
}

/// A hundredth below, so that no queue stays.
const fn below(rate: u64) -> u64 {
    rate - rate / 100
}
