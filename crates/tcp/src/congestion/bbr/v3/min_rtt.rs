//! The least round-trip times (draft-ietf-ccwg-bbr, section 5.3.4).

use std::time::Duration;

use lasthop_packet::Instant;

/// `BBR.MinRTTFilterLen`.
const WINDOW: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);

/// The least round-trip times of ten and of five seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt` and `BBR.min_rtt_stamp`.
    least: Option<Duration>,
    at: Option<Instant>,
    /// `BBR.probe_rtt_min_delay` and `BBR.probe_rtt_min_stamp`.
    recent: Option<Duration>,
    recent_at: Option<Instant>,
    /// `BBR.probe_rtt_expired`.
    is_expired: bool,
}

impl MinRtt {
    /// What the handshake has shown.
    pub(super) fn new(rtt: Option<Duration>) -> Self {
        Self { least: rtt, ..Self::default() }
    }

    pub(super) const fn get(&self) -> Option<Duration> {
        self.least
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
            && (is_old || self.least.is_none_or(|least| recent < least))
        {
            (self.least, self.at) = (Some(recent), self.recent_at);
        }
    }

    /// Whether the least one of five seconds was older than that at the last ACK.
    pub(super) const fn is_expired(&self) -> bool {
        self.is_expired
    }

    /// The least one of five seconds counts from now on for five seconds more.
    pub(super) const fn keep_from(&mut self, now: Instant) {
        self.recent_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_after_five_seconds_and_the_minimum_holds_for_ten() {
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
