//! The minimum round-trip times (draft-ietf-ccwg-bbr, section 5.3.4).

use std::time::Duration;

use lasthop_packet::Instant;

/// `BBR.MinRTTFilterLen`.
const WINDOW: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);

/// The minimum round-trip times of the last ten and five seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt` and `BBR.min_rtt_stamp`.
    min: Option<Duration>,
    at: Option<Instant>,
    /// `BBR.probe_rtt_min_delay` and `BBR.probe_rtt_min_stamp`.
    recent: Option<Duration>,
    recent_at: Option<Instant>,
    /// `BBR.probe_rtt_expired`.
    is_expired: bool,
}

impl MinRtt {
    /// Begins with the round-trip time of the handshake, if known.
    pub(super) fn new(rtt: Option<Duration>) -> Self {
        Self { min: rtt, ..Self::default() }
    }

    pub(super) const fn get(&self) -> Option<Duration> {
        self.min
    }

    /// `UpdateMinRTT ()`.
    pub(super) fn update(&mut self, rtt: Option<Duration>, now: Instant) {
        self.is_expired = now.since(*self.recent_at.get_or_insert(now)) > INTERVAL;
        if let Some(rtt) = rtt
            && (self.is_expired || self.recent.is_none_or(|recent| rtt < recent))
        {
            (self.recent, self.recent_at) = (Some(rtt), Some(now));
        }
        let is_old = now.since(*self.at.get_or_insert(now)) > WINDOW;
        if let Some(recent) = self.recent
            && (is_old || self.min.is_none_or(|min| recent < min))
        {
            (self.min, self.at) = (Some(recent), self.recent_at);
        }
    }

    /// Whether the five-second minimum was older than five seconds at the last ACK.
    pub(super) const fn is_expired(&self) -> bool {
        self.is_expired
    }

    /// Keeps the five-second minimum for five seconds from now.
    pub(super) const fn keep_from(&mut self, now: Instant) {
        self.recent_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_due_after_five_seconds_and_the_minimum_is_valid_for_ten() {
        let mut min = MinRtt::new(None);
        let (ms, at) = (Duration::from_millis, Instant::from_millis);
        min.update(Some(ms(50)), at(0));
        min.update(Some(ms(60)), at(5000));
        assert!(!min.is_expired && min.get() == Some(ms(50)));
        min.update(Some(ms(60)), at(5001));
        assert!(min.is_expired && min.get() == Some(ms(50)));
        min.update(Some(ms(70)), at(10_001));
        assert_eq!(min.get(), Some(ms(60)));
    }
}
