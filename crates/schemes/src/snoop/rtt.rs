//! The round-trip time over the wireless hop.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Settings, Timer};

/// However often a timer backs off, it does not wait longer than this.
const LONGEST: Duration = Duration::from_secs(1);

/// A round-trip time beyond this (RFC 9293, section 3.4.1, the maximum segment lifetime) is none.
const LONGEST_HOP: Duration = Duration::from_secs(120);

/// The longest that the ACK of a single segment is waited for beyond a round trip (Linux,
/// `TCP_DELACK_MAX`).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(200);

/// So many needless copies, with few needed ones between, tell of an ACK that is late. Fewer may be
/// of ACKs that were lost, and where those are lost data is lost, too, and should not wait.
const CHANCE: u32 = 8;

/// What each needless copy beyond that adds to the wait.
const STEP: Duration = Duration::from_millis(50);

/// More needless copies than this are not counted.
const MOST: u32 = CHANCE + 4;

/// Smoothed round-trip time, deviation, the least that was measured, and whether the timer's copies
/// were needed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopRtt {
    srtt: Duration,
    rttvar: Duration,
    least: Option<Duration>,
    /// The timer's copies that were needless; half as many after each needed one.
    needless: u32,
}

impl HopRtt {
    /// An estimate before the first measurement.
    pub const fn new(srtt: Duration, rttvar: Duration) -> Self {
        Self { srtt, rttvar, least: None, needless: 0 }
    }

    /// The same where it comes from elsewhere: nothing in it is longer than a packet can be on a
    /// hop.
    #[must_use]
    pub fn bounded(self) -> Self {
        let bounded = |time: Duration| time.min(LONGEST_HOP);
        Self {
            srtt: bounded(self.srtt),
            rttvar: bounded(self.rttvar),
            least: self.least.map(bounded),
            needless: self.needless.min(MOST),
        }
    }

    /// The least round-trip time measured; zero before the first measurement.
    pub fn least(&self) -> Duration {
        self.least.unwrap_or_default()
    }

    /// The smoothed round-trip time.
    pub const fn smoothed(&self) -> Duration {
        self.srtt
    }

    /// How long what few segments have overtaken may still come, where so many may overtake: a
    /// quarter of the least round trip for each, one round trip at most (RFC 8985, section 6.2,
    /// `RACK.reo_wnd`).
    pub fn reordering_window(&self, segments: u32) -> Duration {
        let least = self.least.unwrap_or(self.srtt);
        (least / 4).saturating_mul(segments.max(1)).min(self.srtt)
    }

    /// The timer expired. As long as nothing is measured the estimate doubles: on a slow hop each
    /// segment would be copied before its ACK could come, and copies measure nothing.
    //= RFC 6298, section 5.5: RTO <- RTO * 2.
    pub fn back_off(&mut self) {
        if self.least.is_none() && self.plain_timeout() < LONGEST {
            (self.srtt, self.rttvar) = (2 * self.srtt, 2 * self.rttvar);
        }
    }

    /// As in RFC 6298, without bounds.
    const fn plain_timeout(&self) -> Duration {
        self.srtt.saturating_add(self.rttvar.saturating_mul(4))
    }

    /// A copy of the timer's turned out to be needless, or needed.
    pub fn judge_copy(&mut self, was_needless: bool) {
        self.needless = if was_needless { (self.needless + 1).min(MOST) } else { self.needless / 2 };
    }

    /// How long the receiver may delay the ACK of a single segment.
    fn delayed_ack(&self, settings: &Settings) -> Duration {
        let longest = LONGEST_DELAYED_ACK.max(settings.delayed_ack);
        settings.delayed_ack.saturating_add(STEP * self.needless.saturating_sub(CHANCE)).min(longest)
    }

    /// Takes a measurement, from a packet that was sent once.
    pub fn measure(&mut self, rtt: Duration, timer: Timer) {
        if rtt.is_zero() {
            return;
        }
        match timer {
            Timer::Published => self.measure_as_published(rtt),
            Timer::Hop => self.measure_as_rfc_6298(rtt),
        }
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// With g = 1/8: srtt = g srtt + (1 - g) rtt, and rttvar = (1 - g) rttvar + g |rtt - srtt| with
    /// the new srtt (`snoop_rtt`). The weights of srtt are the other way round than Jacobson's; so
    /// they are in snoop.cc.
    fn measure_as_published(&mut self, rtt: Duration) {
        // A measurement is at most the age of a cached packet, but nothing here may overflow,
        // whatever the clock says.
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
        if self.least.is_none() {
            (self.srtt, self.rttvar) = (rtt, rtt / 2);
            return;
        }
        self.rttvar = (self.rttvar / 4 * 3).saturating_add(self.srtt.abs_diff(rtt) / 4);
        self.srtt = (self.srtt / 8 * 7).saturating_add(rtt / 8);
    }

    /// How long to wait for an ACK: srtt + 4 rttvar, at least the minimum. The published timer does
    /// not back off; the other doubles with each expiry since the last progress, and where
    /// `is_single`, only one segment is outstanding, waits for a delayed ACK on top of the least
    /// round trip at least. Not on top of srtt: samples of such segments have the delay in them.
    pub fn timeout(&self, settings: &Settings, expiries: u32, is_single: bool) -> Duration {
        let plain = self.plain_timeout().max(settings.minimum_timeout);
        match settings.timer {
            Timer::Published => plain,
            Timer::Hop => {
                let least = self.least.unwrap_or(self.srtt).max(settings.minimum_timeout);
                let delayed = least.saturating_add(self.delayed_ack(settings));
                let once = if is_single { plain.max(delayed) } else { plain };
                once.saturating_mul(1 << expiries.min(16)).min(LONGEST.max(once))
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
    fn the_hops_timeout_backs_off_and_waits_for_a_delayed_ack_of_a_single_segment() {
        let settings = Settings::default();
        let mut rtt = HopRtt::new(50 * MILLI, 25 * MILLI);
        assert_eq!(rtt.timeout(&settings, 0, false), 150 * MILLI);
        rtt.measure(16 * MILLI, Timer::Hop);
        assert_eq!(rtt.timeout(&settings, 0, false), 48 * MILLI, "R + 4 R / 2");
        assert_eq!(rtt.timeout(&settings, 0, true), 60 * MILLI, "the least, for a delayed ACK");
        assert_eq!(rtt.timeout(&settings, 2, false), 192 * MILLI);
        assert_eq!(rtt.timeout(&settings, 20, false), LONGEST);
        for _ in 0..200 {
            rtt.measure(8 * MILLI, Timer::Hop);
        }
        assert_eq!(rtt.timeout(&settings, 0, false), 20 * MILLI);
        assert_eq!(rtt.least(), 8 * MILLI);
    }
}
