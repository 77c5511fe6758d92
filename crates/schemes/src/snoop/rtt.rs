//! The round-trip time over the wireless hop.

use std::time::Duration;

/// Smoothed round-trip time and deviation, as snoop.cc keeps them.
#[derive(Clone, Copy, Debug)]
pub struct HopRtt {
    srtt: Duration,
    rttvar: Duration,
}

impl HopRtt {
    /// An estimate before the first measurement.
    pub const fn new(srtt: Duration, rttvar: Duration) -> Self {
        Self { srtt, rttvar }
    }

    /// Takes a measurement, from a packet that was sent once.
    ///
    /// With g = 1/8: srtt = g srtt + (1 - g) rtt, and rttvar = (1 - g) rttvar + g |rtt - srtt| with the new srtt
    /// (`snoop_rtt`). The weights of srtt are the other way round than Jacobson's; so they are in snoop.cc.
    pub fn measure(&mut self, rtt: Duration) {
        if rtt.is_zero() {
            return;
        }
        // A measurement is at most the age of a cached packet, but nothing here may overflow, whatever the clock says.
        self.srtt = (self.srtt / 8).saturating_add(rtt / 8 * 7);
        let deviation = rtt.abs_diff(self.srtt);
        self.rttvar = if self.rttvar.is_zero() {
            deviation
        } else {
            (deviation / 8).saturating_add(self.rttvar / 8 * 7)
        };
    }

    /// How long to wait for an ACK: srtt + 4 rttvar, at least `minimum`. It does not back off.
    pub fn timeout(&self, minimum: Duration) -> Duration {
        self.srtt.saturating_add(self.rttvar.saturating_mul(4)).max(minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: Duration = Duration::from_millis(100);

    #[test]
    fn the_timeout_is_srtt_and_four_deviations() {
        let mut rtt = HopRtt::new(Duration::from_millis(100), Duration::from_millis(250));
        assert_eq!(rtt.timeout(MINIMUM), Duration::from_millis(1100));
        rtt.measure(Duration::from_millis(20));
        // srtt = 100 / 8 + 20 * 7 / 8 = 30; rttvar = (30 - 20) / 8 + 250 * 7 / 8 = 220.
        assert_eq!(rtt.timeout(MINIMUM), Duration::from_millis(30 + 4 * 220));
    }

    #[test]
    fn the_timeout_has_a_floor_and_nothing_overflows() {
        let mut rtt = HopRtt::new(Duration::from_millis(1), Duration::ZERO);
        assert_eq!(rtt.timeout(MINIMUM), MINIMUM);
        rtt.measure(Duration::MAX);
        rtt.measure(Duration::MAX);
        assert!(rtt.timeout(MINIMUM) > Duration::from_secs(1 << 60));
    }
}
