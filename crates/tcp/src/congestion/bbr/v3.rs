//! BBR version 3 (draft-ietf-ccwg-bbr as of August 2026, whose names are in parentheses).
//!
//! | file | section | what |
//! |---|---|---|
//! | `model` | 5.5 | [`Bbr3`]: the model of the path, and its update with each ACK |
//! | `startup` | 5.3.1, 5.3.2 | the end of Startup and of Drain |
//! | `probe_bandwidth` | 5.3.3 | the cycle that probes for bandwidth |
//! | `probe_rtt` | 5.3.4 | the state that measures the minimum round-trip time |
//! | `losses` | 5.5.10.2 | the effect of a lost segment on the long-term limit |
//! | `spurious` | 5.5.11 | undo of the effects of a spurious loss |
//! | `cwnd` | 5.6.4 | the window after an ACK |
//!
//! The parts of the model, which do not depend on it:
//!
//! | file | section | what |
//! |---|---|---|
//! | `state` | 5.6.1 | the states and their gains |
//! | `lost_ranges` | 5.3.1.3 | ranges lost in a round trip |
//! | `cycle` | 5.3.3 | the position in that cycle |
//! | `min_rtt` | 5.3.4 | the minimum round-trip times |
//! | `long_term` | 5.5.10 | the limit that probes of the path find |
//! | `short_term` | 5.5.10.3 | the limit between probes |
//! | `undo` | 5.5.11 | the limits before losses |
//! | `window` | 5.6.4 | cwnd before a reduction, and its use |
//!
//! What the draft leaves open, and what we chose:
//! - Startup ends because of losses if a round trip of recovery lost more than 2% in six ranges; a
//!   range adjacent to the last lost segment does not count as new.
//! - cwnd counts as used (`C.is_cwnd_limited`) if less than a segment of room was left at an ACK of
//!   this round trip or the last one.
//! - An ACK whose interval is too short for a rate does not update the model, not even the count of
//!   rounds, as in Linux.
//! - Random numbers are seeded with the connection's first sequence number.

mod cwnd;
mod cycle;
mod long_term;
mod losses;
mod lost_ranges;
mod min_rtt;
mod model;
mod probe_bandwidth;
mod probe_rtt;
mod short_term;
mod spurious;
mod startup;
mod state;
mod undo;
mod window;

use std::time::Duration;

use lasthop_packet::Instant;

pub use self::model::Bbr3;

use self::min_rtt::MinRtt;
use self::state::{Gain, State};
use super::dice::Dice;
use crate::congestion::{AckSample, CongestionControl, Pacing, PathModel, PathSample, Reduction, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::{LostSegment, RetransmissionQueue};

impl Bbr3 {
    /// `UpdateModelAndState ()`.
    fn update_model(&mut self, path: &mut PathSample<'_>) {
        let delivery_rate = Self::rate(path);
        self.short_term.update_delivery_signals(
            path.ack.rate.as_ref(),
            delivery_rate,
            path.queue.delivered(),
        );
        self.update_max_bandwidth(path, delivery_rate);
        self.short_term.adapt(self.state.is_accelerating(), self.max_bandwidth.get(), path.flight.cwnd);
        self.update_aggregation(path);
        self.check_full_pipe(path, delivery_rate);
        self.check_startup_done(path);
        self.check_drain_done(path);
        self.update_cycle(path);
        self.min_rtt.update(path.ack.rtt, path.now());
        self.check_probe_rtt(path);
        self.short_term.begin_round(path.ack.rate.as_ref(), delivery_rate);
        self.bandwidth = self.short_term.bound(self.max_bandwidth.get());
    }
}

impl PathModel for Bbr3 {
    //= draft-ietf-ccwg-bbr, section 5.2.1: OnInit ().
    fn begin(&mut self, flight: &Flight, rtt: Option<Duration>, has_reports: bool) {
        self.dice = Dice::new(flight.una);
        self.has_reports = has_reports;
        self.min_rtt = MinRtt::new(rtt);
        self.window.begin(flight.cwnd);
        self.pacing.begin(flight.cwnd, rtt, |rate| State::Startup.pacing_gain().of(rate));
    }

    //= draft-ietf-ccwg-bbr, section 5.2.3: UpdateOnACK ().
    fn update(&mut self, path: &mut PathSample<'_>) {
        self.window.update_use(path.in_network_before, path.flight);
        self.undo_spurious_loss(path);
        self.update_model(path);
        self.pacing.on_rtt(path.flight.cwnd, path.ack.srtt, |rate| State::Startup.pacing_gain().of(rate));
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_window(path);
    }

    //= draft-ietf-ccwg-bbr, section 5.4.1: HandleRestartFromIdle ().
    fn on_restart(&mut self, now: Instant, delivered: u64, flight: &mut Flight) {
        self.is_restarting = true;
        self.aggregation.restart(now);
        if self.state.is_probing_bandwidth() {
            self.set_pacing_rate(Gain::UNIT);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(now, delivered, flight);
        }
    }

    fn on_segment_lost(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        self.handle_lost_segment(lost, now, flight);
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.4: OnEnterRTO ().
    fn on_loss_state(&mut self, _now: Instant, _queue: &RetransmissionQueue) {
        self.window.set_stage(Stage::Loss);
    }
}

impl CongestionControl for Bbr3 {
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

    //= draft-ietf-ccwg-bbr, section 5.6.4.4: OnEnterFastRecovery ().
    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        self.save_upon_loss(flight.cwnd);
        Reduction::to(flight.cwnd)
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        self.save_upon_loss(flight.cwnd);
        flight.cwnd = flight.mss;
    }

    fn on_undo(&mut self, _flight: &Flight) {
        self.undo.is_due = true;
    }
}

#[cfg(test)]
mod tests;
