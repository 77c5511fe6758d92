//! BBR version 3 (draft-ietf-ccwg-bbr as of August 2026, whose names are in parentheses).
//!
//! | file | section | what |
//! |---|---|---|
//! | `state` | 5.6.1 | the states and their gains |
//! | `startup` | 5.3.1, 5.3.2 | out of Startup because of losses, out of Drain |
//! | `probe_bandwidth` | 5.3.3 | the cycle that probes for bandwidth |
//! | `long_term` | 5.5.10 | how much the path takes while it is probed |
//! | `short_term` | 5.5.10.3 | how much it takes in between |
//! | `spurious` | 5.5.11 | what a loss did that was none |
//! | `probe_rtt` | 5.3.4 | the least round-trip time |
//! | `window` | 5.6.4 | cwnd |
//!
//! What the draft leaves open, and what we chose:
//! - Startup ends because of losses where a round trip of recovery is over that lost more than 2%
//!   in six ranges; a range that goes on from the last lost segment is no new one.
//! - cwnd counts as used (`C.is_cwnd_limited`) if an ACK of this round trip or the last one found
//!   less than a segment of room.
//! - An ACK whose interval is too short for a rate says nothing, not even of rounds, as in Linux.
//! - Chance comes from the connection's first sequence number.

mod long_term;
mod probe_bandwidth;
mod probe_rtt;
mod short_term;
mod spurious;
mod startup;
mod state;
mod window;

use std::time::Duration;

use lasthop_packet::Instant;

use self::long_term::LongTerm;
use self::probe_bandwidth::Cycle;
use self::probe_rtt::MinRtt;
use self::short_term::ShortTerm;
use self::spurious::Undo;
use self::startup::LostRanges;
use self::state::{Gain, State};
use self::window::Window;
use super::aggregation::Aggregation;
use super::dice::Dice;
use super::full_pipe::FullPipe;
use super::pacing_rate::PacingRate;
use super::probe_rtt_hold::ProbeRttHold;
use super::rate::per_second;
use super::rounds::Rounds;
use super::two_slots::TwoSlots;
use super::windowed_max::WindowedMax;
use crate::congestion::{AckSample, CongestionControl, Pacing, PathModel, PathSample, Reduction, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::{LostSegment, RetransmissionQueue};

//= draft-ietf-ccwg-bbr, section 2.11: BBR.ExtraAckedFilterLen; in Startup one round.
const AGGREGATION_ROUNDS: u64 = 10;
/// `BBR.LossThresh`: more than a fiftieth.
const LOSS_THRESHOLD: u64 = 50;

/// BBR version 3.
#[derive(Clone, Debug, Default)]
pub struct Bbr3 {
    state: State,
    rounds: Rounds,
    /// `BBR.max_bw_filter`: the slots are cycles.
    max_bandwidth: TwoSlots,
    /// `BBR.bw`.
    bandwidth: u64,
    full_pipe: FullPipe,
    short_term: ShortTerm,
    long_term: LongTerm,
    cycle: Cycle,
    lost_ranges: LostRanges,
    /// `BBR.drain_start_round`.
    drain_start: u64,
    undo: Undo,
    min_rtt: MinRtt,
    hold: ProbeRttHold,
    aggregation: Aggregation,
    extra_acked: WindowedMax,
    window: Window,
    pacing: PacingRate,
    /// It sends after a pause, and nothing was delivered since (`BBR.idle_restart`).
    is_restarting: bool,
    /// Whether the receiver reports what it has (`C.has_selective_acks`).
    has_reports: bool,
    dice: Dice,
}

impl Bbr3 {
    /// `RS.delivery_rate`.
    fn rate(path: &PathSample<'_>) -> u64 {
        path.ack.rate.map_or(0, |rate| per_second(rate.delivered, rate.interval))
    }

    /// `UpdateModelAndState ()`.
    fn update_model(&mut self, path: &mut PathSample<'_>) {
        let delivery_rate = Self::rate(path);
        self.short_term.note_delivery(path.ack.rate.as_ref(), delivery_rate, path.queue.delivered());
        self.update_max_bandwidth(path, delivery_rate);
        self.adapt_short_term(path.flight.cwnd);
        self.update_aggregation(path);
        self.check_full_pipe(path, delivery_rate);
        self.check_startup_done(path);
        self.check_drain_done(path);
        self.update_cycle(path);
        self.update_min_rtt(path);
        self.check_probe_rtt(path);
        self.short_term.begin_round(path.ack.rate.as_ref(), delivery_rate);
        self.bandwidth = self.short_term.bound(self.max_bandwidth.get());
    }

    /// `UpdateMaxBw ()`.
    fn update_max_bandwidth(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        self.rounds.is_start = false;
        let Some(rate) = path.ack.rate else { return };
        self.rounds.on_delivery(rate.prior_delivered, path.queue.delivered());
        if self.rounds.is_start {
            self.cycle.count_round();
            self.window.begin_round();
        }
        if delivery_rate >= self.max_bandwidth.get() || !rate.is_application_limited {
            self.max_bandwidth.update(delivery_rate);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.5.9: UpdateACKAggregation ().
    fn update_aggregation(&mut self, path: &PathSample<'_>) {
        if path.ack.rate.is_none() {
            return;
        }
        let excess = self.aggregation.excess(u64::from(path.ack.acked), self.bandwidth, path.now());
        let window = if self.full_pipe.was_reached { AGGREGATION_ROUNDS } else { 1 };
        self.extra_acked.update(excess.min(u64::from(path.flight.cwnd)), self.rounds.count, window);
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.2: CheckFullBWReached ().
    fn check_full_pipe(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        if self.rounds.is_start && !path.is_application_limited() {
            self.full_pipe.on_round(delivery_rate);
        }
    }

    /// The pacing rate of the current state.
    fn set_pacing_rate(&mut self, gain: Gain) {
        self.pacing.set(gain.of(self.bandwidth), self.full_pipe.was_reached);
    }

    /// `IsInflightTooHigh ()`: of what was in the network, too much was lost since.
    fn is_too_much(&self, lost: u64, in_network: u32) -> bool {
        lost * LOSS_THRESHOLD > u64::from(in_network) || (lost > 0 && !self.has_reports)
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
        self.window.note_use(path.in_network_before, path.flight);
        self.take_back(path);
        self.update_model(path);
        self.pacing.note_rtt(path.flight.cwnd, path.ack.srtt, |rate| State::Startup.pacing_gain().of(rate));
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
        self.window.note_stage(Stage::Loss);
    }
}

impl CongestionControl for Bbr3 {
    fn goes_by_segments(&self) -> bool {
        true
    }

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
