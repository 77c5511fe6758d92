//! The round-trip time over the wireless hop.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Settings, Timer};

/// The maximum of a time-out after back-off.
const MAX_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum of a plausible round-trip time (RFC 9293, section 3.4.1, the maximum segment
/// lifetime).
const MAX_ROUND_TRIP: Duration = Duration::from_secs(120);

/// The maximum additional wait for the delayed ACK of a single segment (Linux, `TCP_DELACK_MAX`).
const MAX_DELAYED_ACK: Duration = Duration::from_millis(200);

/// More needless copies than this, with few needed ones in between, indicate a late ACK. Fewer may
/// be caused by lost ACKs; where ACKs are lost, data is lost, too, and its repair should not wait.
const LOST_ACKS: u32 = 8;

/// The additional wait for each needless copy above [`LOST_ACKS`].
const STEP: Duration = Duration::from_millis(50);

/// The maximum count of needless copies.
const MAX_NEEDLESS: u32 = LOST_ACKS + 4;

/// The smoothed round-trip time, its deviation and minimum, and how many of the timer's copies were
/// needless.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopRtt {
    srtt: Duration,
    rttvar: Duration,
    min: Option<Duration>,
    /// Needless copies by the timer; halved by each needed one.
    needless: u32,
}

impl HopRtt {
    /// An estimate before the first measurement, with these initial values.
    pub const fn new(srtt: Duration, rttvar: Duration) -> Self {
        Self { srtt, rttvar, min: None, needless: 0 }
    }

    /// An imported estimate, with each time limited to `MAX_ROUND_TRIP`.
    #[must_use]
    pub fn bounded(self) -> Self {
        let bounded = |time: Duration| time.min(MAX_ROUND_TRIP);
        Self {
            srtt: bounded(self.srtt),
            rttvar: bounded(self.rttvar),
            min: self.min.map(bounded),
            needless: self.needless.min(MAX_NEEDLESS),
        }
    }

    /// The minimum round-trip time measured; zero before the first measurement.
    pub fn min(&self) -> Duration {
        self.min.unwrap_or_default()
    }

    /// The smoothed round-trip time.
    pub const fn smoothed(&self) -> Duration {
        self.srtt
    }

    /// How long a segment that few segments have overtaken may still arrive, where `segments` may
    /// overtake it: a quarter of the minimum round trip for each, at most one round trip (RFC 8985,
    /// section 6.2, `RACK.reo_wnd`).
    pub fn reordering_window(&self, segments: u32) -> Duration {
        let min = self.min.unwrap_or(self.srtt);
        (min / 4).saturating_mul(segments.max(1)).min(self.srtt)
    }

    /// The timer expired. Before the first measurement the estimate doubles: on a slow hop each
    /// segment would otherwise be copied before its ACK could arrive, and copies give no
    /// measurement.
    //= RFC 6298, section 5.5: RTO <- RTO * 2.
    pub fn back_off(&mut self) {
        if self.min.is_none() && self.plain_timeout() < MAX_TIMEOUT {
            (self.srtt, self.rttvar) = (2 * self.srtt, 2 * self.rttvar);
        }
    }

    /// The time-out of RFC 6298, without bounds.
    const fn plain_timeout(&self) -> Duration {
        self.srtt.saturating_add(self.rttvar.saturating_mul(4))
    }

    /// Records whether a copy by the timer was needless.
    pub fn judge_copy(&mut self, was_needless: bool) {
        self.needless = if was_needless { (self.needless + 1).min(MAX_NEEDLESS) } else { self.needless / 2 };
    }

    /// How long the receiver may delay the ACK of a single segment.
    fn delayed_ack(&self, settings: &Settings) -> Duration {
        let longest = MAX_DELAYED_ACK.max(settings.delayed_ack);
        settings.delayed_ack.saturating_add(STEP * self.needless.saturating_sub(LOST_ACKS)).min(longest)
    }

    /// Adds a measurement, of a packet that was sent once.
    pub fn measure(&mut self, rtt: Duration, timer: Timer) {
        if rtt.is_zero() {
            return;
        }
        match timer {
            Timer::Published => self.measure_as_published(rtt),
            Timer::Hop => self.measure_as_rfc_6298(rtt),
        }
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// With g = 1/8: srtt = g srtt + (1 - g) rtt, and rttvar = (1 - g) rttvar + g |rtt - srtt| with
    /// the new srtt (`snoop_rtt`). The weights of srtt are the reverse of Jacobson's, as in
    /// snoop.cc.
    fn measure_as_published(&mut self, rtt: Duration) {
        // A measurement is at most the age of a cached packet; the arithmetic saturates in case the
        // clock jumps.
        self.srtt = (self.srtt / 8).saturating_add(rtt / 8 * 7);
        let deviation = rtt.abs_diff(self.srtt);
        self.rttvar = if self.rttvar.is_zero() {
            deviation
        } else {
            (deviation / 8).saturating_add(self.rttvar / 8 * 7)
        };
    }

    //= RFC 6298, section 2.2 and 2.3: the first measurement R gives SRTT <- R, RTTVAR <- R/2; later ones RTTVAR <- 3/4 RTTVAR +
    //= 1/4 |SRTT - R'|, then SRTT <- 7/8 SRTT + 1/8 R'.
    fn measure_as_rfc_6298(&mut self, rtt: Duration) {
        if self.min.is_none() {
            (self.srtt, self.rttvar) = (rtt, rtt / 2);
            return;
        }
        self.rttvar = (self.rttvar / 4 * 3).saturating_add(self.srtt.abs_diff(rtt) / 4);
        self.srtt = (self.srtt / 8 * 7).saturating_add(rtt / 8);
    }

    /// The time-out: srtt + 4 rttvar, at least the minimum. The published timer does not back off;
    /// the other doubles with each expiry since the last progress. If `is_single`, only one segment
    /// is outstanding, and its time-out is at least the minimum round trip plus the delayed ACK.
    /// srtt does not serve here: samples of such segments include the delay.
    pub fn timeout(&self, settings: &Settings, expiries: u32, is_single: bool) -> Duration {
        let plain = self.plain_timeout().max(settings.minimum_timeout);
        match settings.timer {
            Timer::Published => plain,
            Timer::Hop => {
                let min = self.min.unwrap_or(self.srtt).max(settings.minimum_timeout);
                let delayed = min.saturating_add(self.delayed_ack(settings));
                let once = if is_single { plain.max(delayed) } else { plain };
                once.saturating_mul(1 << expiries.min(16)).min(MAX_TIMEOUT.max(once))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_config::preset::Presets as _;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn the_published_timeout_is_srtt_and_four_deviations() {
        let settings = Settings::published();
        let mut rtt = HopRtt::new(100 * MILLI, 250 * MILLI);
        assert_eq!(rtt.timeout(&settings, 3, true), 1100 * MILLI);
        rtt.measure(20 * MILLI, Timer::Published);
        // srtt = 100 / 8 + 20 * 7 / 8 = 30; rttvar = (30 - 20) / 8 + 250 * 7 / 8 = 220.
        assert_eq!(rtt.timeout(&settings, 0, false), (30 + 4 * 220) * MILLI);
    }

    #[test]
    fn the_timeout_has_a_floor_and_nothing_overflows() {
        for (settings, timer) in
            [(Settings::published(), Timer::Published), (Settings::default(), Timer::Hop)]
        {
            let mut rtt = HopRtt::new(MILLI, Duration::ZERO);
            assert_eq!(rtt.timeout(&settings, 0, false), settings.minimum_timeout);
            for _ in 0..3 {
                rtt.measure(Duration::MAX, timer);
            }
            assert!(rtt.timeout(&settings, 99, false) > Duration::from_secs(1 << 60));
        }
    }

    #[test]
    fn before_the_first_measurement_the_estimate_itself_backs_off() {
        let settings = Settings::default();
        let mut rtt = HopRtt::new(50 * MILLI, 25 * MILLI);
        for expected in [150, 300, 600, 1200, 1200] {
            assert_eq!(rtt.timeout(&settings, 0, false), expected * MILLI);
            rtt.back_off();
        }
        rtt.measure(16 * MILLI, Timer::Hop);
        rtt.back_off();
        assert_eq!(rtt.timeout(&settings, 0, false), 48 * MILLI);
    }

    #[test]
    fn the_hop_timeout_backs_off_and_waits_for_a_delayed_ack_of_a_single_segment() {
        let settings = Settings::default();
        let mut rtt = HopRtt::new(50 * MILLI, 25 * MILLI);
        assert_eq!(rtt.timeout(&settings, 0, false), 150 * MILLI);
        rtt.measure(16 * MILLI, Timer::Hop);
        assert_eq!(rtt.timeout(&settings, 0, false), 48 * MILLI, "R + 4 R / 2");
        assert_eq!(rtt.timeout(&settings, 0, true), 60 * MILLI, "the least, for a delayed ACK");
        assert_eq!(rtt.timeout(&settings, 2, false), 192 * MILLI);
        assert_eq!(rtt.timeout(&settings, 20, false), MAX_TIMEOUT);
        for _ in 0..200 {
            rtt.measure(8 * MILLI, Timer::Hop);
        }
        assert_eq!(rtt.timeout(&settings, 0, false), 20 * MILLI);
        assert_eq!(rtt.min(), 8 * MILLI);
    }
}
