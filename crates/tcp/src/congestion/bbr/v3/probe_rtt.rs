//! The least round-trip time, and the state that measures it where nothing else does
//! (draft-ietf-ccwg-bbr, section 5.3.4).

use std::time::Duration;

use lasthop_packet::Instant;

use super::Bbr3;
use super::probe_bandwidth::AckPhase;
use super::state::{Gain, State};
use super::window::least;
use crate::congestion::PathSample;
use crate::congestion::bbr::probe_rtt_hold::ProbeRttHold;
use crate::flight::Flight;

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
    fn update(&mut self, rtt: Option<Duration>, now: Instant) {
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
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, path: &PathSample<'_>) {
        self.min_rtt.update(path.ack.rtt, path.now());
    }

    /// `CheckProbeRTT ()`.
    pub(super) fn check_probe_rtt(&mut self, path: &mut PathSample<'_>) {
        let delivered = path.queue.delivered();
        if self.state != State::ProbeRtt && self.min_rtt.is_expired && !self.is_restarting {
            self.state = State::ProbeRtt;
            self.save_window(path.flight.cwnd);
            self.hold = ProbeRttHold::default();
            self.cycle.ack_phase = AckPhase::Stopping;
            self.rounds.begin(delivered);
        }
        if self.state == State::ProbeRtt {
            path.queue.note_application_limited();
            let is_drained = u64::from(path.queue.in_network()) <= self.probe_rtt_window(path.flight.mss);
            if self.hold.on_ack(is_drained, &mut self.rounds, delivered, path.now()) {
                self.end_probe_rtt(path.now(), delivered, path.flight);
            }
        }
        if path.ack.acked > 0 {
            self.is_restarting = false;
        }
    }

    /// `CheckProbeRTTDone ()` and `ExitProbeRTT ()`.
    pub(super) fn end_probe_rtt(&mut self, now: Instant, delivered: u64, flight: &mut Flight) {
        if !self.hold.is_done(now) {
            return;
        }
        self.min_rtt.recent_at = Some(now);
        flight.cwnd = self.window.restored(flight.cwnd);
        self.short_term.reset();
        if self.full_pipe.was_reached {
            self.start_down(delivered, now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd ()`.
    pub(super) fn probe_rtt_window(&self, mss: u32) -> u64 {
        self.product(Gain::HALF).max(least(mss))
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
