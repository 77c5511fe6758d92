//! The state that measures the minimum round-trip time if no other event does (draft-ietf-ccwg-bbr,
//! section 5.3.4).

use lasthop_packet::Instant;

use super::cycle::AckPhase;
use super::model::Bbr3;
use super::state::State;
use crate::congestion::PathSample;
use crate::congestion::bbr::probe_rtt_hold::ProbeRttHold;
use crate::flight::Flight;

impl Bbr3 {
    /// `CheckProbeRTT ()`.
    pub(super) fn check_probe_rtt(&mut self, path: &mut PathSample<'_>) {
        let delivered = path.queue.delivered();
        if self.state != State::ProbeRtt && self.min_rtt.is_expired() && !self.is_restarting {
            self.state = State::ProbeRtt;
            self.window.save(path.flight.cwnd, true);
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
        self.min_rtt.keep_from(now);
        flight.cwnd = self.window.restored(flight.cwnd);
        self.short_term.reset();
        if self.full_pipe.was_reached {
            self.start_down(delivered, now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
