//! Measures the round-trip time with a minimum in the network, if the minimum round-trip time was
//! not seen for ten seconds.

use lasthop_packet::Instant;

use super::model::{Bbr, Mode};
use super::window::MIN_WINDOW;
use crate::congestion::PathSample;
use crate::congestion::bbr::probe_rtt_hold::ProbeRttHold;
use crate::flight::Flight;

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, path: &mut PathSample<'_>) {
        let now = path.now();
        let is_expired = self.min_rtt.update(path.ack.rtt, path.is_delayed, now);
        if is_expired && !self.is_restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.window.save(path.flight.cwnd, true);
            self.hold = ProbeRttHold::default();
        }
        if self.mode == Mode::ProbeRtt {
            path.queue.note_application_limited();
            let is_drained = path.queue.in_network() <= MIN_WINDOW * path.flight.mss;
            if self.hold.on_ack(is_drained, &mut self.rounds, path.queue.delivered(), now) {
                self.end_probe_rtt(now, path.flight);
            }
        }
        if path.ack.acked > 0 {
            self.is_restarting = false;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn end_probe_rtt(&mut self, now: Instant, flight: &mut Flight) {
        if !self.hold.is_done(now) {
            return;
        }
        self.min_rtt.keep_from(now);
        flight.cwnd = self.window.restored(flight.cwnd);
        if self.full_pipe.was_reached {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
