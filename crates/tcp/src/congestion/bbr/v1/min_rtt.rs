//! The minimum round-trip time of the last ten seconds.

use std::time::Duration;

use lasthop_packet::Instant;

/// How long a round-trip time is valid (`bbr_min_rtt_win_sec`).
const WINDOW: Duration = Duration::from_secs(10);

/// A minimum that must be measured again when it is too old.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    min: Option<Duration>,
    /// When it was measured; None before the first ACK.
    at: Option<Instant>,
}

impl MinRtt {
    /// Begins with the round-trip time of the handshake, if known.
    pub(super) const fn new(rtt: Option<Duration>) -> Self {
        Self { min: rtt, at: None }
    }

    /// None before the first measurement.
    pub(super) const fn get(&self) -> Option<Duration> {
        self.min
    }

    /// Processes an ACK; `is_delayed` if the receiver may have delayed it. Returns whether the
    /// minimum was too old.
    pub(super) fn update(&mut self, rtt: Option<Duration>, is_delayed: bool, now: Instant) -> bool {
        let is_expired = now.since(*self.at.get_or_insert(now)) > WINDOW;
        if let Some(rtt) = rtt
            && (self.min.is_none_or(|min| rtt <= min) || (is_expired && !is_delayed))
        {
            (self.min, self.at) = (Some(rtt), Some(now));
        }
        is_expired
    }

    /// Keeps the minimum for ten seconds from now.
    pub(super) const fn keep_from(&mut self, now: Instant) {
        self.at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_minimum_is_valid_for_ten_seconds() {
        let mut min = MinRtt::new(None);
        let at = Instant::from_millis;
        assert!(!min.update(Some(ms(50)), false, at(0)));
        assert!(!min.update(Some(ms(60)), false, at(10_000)));
        assert_eq!(min.get(), Some(ms(50)));
        // A delayed ACK does not replace it; the next one does, even if it is longer.
        assert!(min.update(Some(ms(90)), true, at(10_001)));
        assert_eq!(min.get(), Some(ms(50)));
        assert!(min.update(Some(ms(70)), false, at(10_002)));
        assert_eq!(min.get(), Some(ms(70)));
        assert!(!min.update(None, false, at(20_002)));
    }

    #[test]
    fn the_same_round_trip_time_again_renews_the_minimum() {
        let mut min = MinRtt::new(Some(ms(50)));
        assert!(!min.update(Some(ms(50)), false, Instant::from_secs(100)));
        assert!(!min.update(Some(ms(50)), false, Instant::from_secs(109)));
        assert!(!min.update(Some(ms(60)), false, Instant::from_secs(119)));
    }
}
