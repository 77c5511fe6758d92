//! BBR version 1 as in Linux 6.18 (`net/ipv4/tcp_bbr.c`, whose names are in parentheses).
//!
//! | file | what |
//! |---|---|
//! | `model` | [`Bbr`]: its mode and its state |
//! | `bandwidth` | the bandwidth of the path |
//! | `modes` | the transitions between modes, and the gains of each mode |
//! | `probe_rtt` | the mode that measures the round-trip time |
//! | `cwnd` | the window after an ACK |
//!
//! The parts of the model, which do not depend on it:
//!
//! | file | what |
//! |---|---|
//! | `gain` | multiples of the bandwidth |
//! | `gain_cycle` | alternating higher and lower gains, to find more bandwidth and to share it |
//! | `min_rtt` | the minimum round-trip time of ten seconds |
//! | `long_term` | the rate of a policer |
//! | `extra_acked` | room for aggregated ACKs |
//! | `window` | cwnd before a reduction, and in recovery |
//!
//! Differences from Linux:
//! - Octets are counted, not packets; where Linux rounds to packets, so do we.
//! - Counters do not overflow: an interval is not discarded because it is too long to count.
//! - Random numbers are seeded with the connection's first sequence number.

mod bandwidth;
mod cwnd;
mod extra_acked;
mod gain;
mod gain_cycle;
mod long_term;
mod min_rtt;
mod model;
mod modes;
mod probe_rtt;
mod window;

use std::time::Duration;

use lasthop_packet::Instant;

pub use self::model::Bbr;

use self::gain::Gain;
use self::min_rtt::MinRtt;
use self::model::Mode;
use super::dice::Dice;
use crate::congestion::{AckSample, CongestionControl, Pacing, PathModel, PathSample, Reduction};
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;

impl PathModel for Bbr {
    fn begin(&mut self, flight: &Flight, rtt: Option<Duration>, _has_reports: bool) {
        self.dice = Dice::new(flight.una);
        self.min_rtt = MinRtt::new(rtt);
        (self.pacing_gain, self.cwnd_gain) = (Gain::HIGH, Gain::HIGH);
        self.pacing.begin(flight.cwnd, rtt, |rate| Gain::HIGH.of(rate));
    }

    /// `bbr_main`.
    fn update(&mut self, path: &mut PathSample<'_>) {
        self.update_bandwidth(path);
        if path.ack.rate.is_some() {
            let (acked, bandwidth) = (u64::from(path.ack.acked), self.bandwidth());
            let delivered_at = path.queue.delivered_at();
            self.extra_acked.update(acked, bandwidth, self.rounds.is_start, path.flight.cwnd, delivered_at);
        }
        self.update_cycle(path);
        self.check_full_pipe(path);
        self.check_drain(path);
        self.update_min_rtt(path);
        self.update_gains();
        self.set_pacing_rate(path);
        self.set_window(path);
    }

    /// `bbr_cwnd_event`.
    fn on_restart(&mut self, now: Instant, _delivered: u64, flight: &mut Flight) {
        self.is_restarting = true;
        self.extra_acked.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.pacing.set(self.bandwidth(), self.full_pipe.was_reached),
            Mode::ProbeRtt => self.end_probe_rtt(now, flight),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_set_state`.
    fn on_loss_state(&mut self, _now: Instant, queue: &RetransmissionQueue) {
        self.window.enter_loss_stage();
        self.full_pipe.clear_baseline();
        self.rounds.is_start = true;
        self.sample_long_term(true, false, queue);
    }
}

impl CongestionControl for Bbr {
    fn rules_recovery(&self) -> bool {
        true
    }

    fn as_path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(self.pacing.get())
    }

    /// The model has set the window already.
    fn on_ack(&mut self, _ack: &AckSample, _flight: &mut Flight) {}

    /// `bbr_ssthresh`: saves the window, and does not reduce it.
    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        self.window.save(flight.cwnd, self.mode == Mode::ProbeRtt);
        Reduction::to(flight.cwnd)
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        self.window.save(flight.cwnd, self.mode == Mode::ProbeRtt);
        flight.cwnd = flight.mss;
    }

    /// `bbr_undo_cwnd`.
    fn on_undo(&mut self, _flight: &Flight) {
        self.full_pipe.reset_to(0);
        self.long_term.reset();
    }
}

#[cfg(test)]
mod tests;
