//! BBR version 3 (draft-ietf-ccwg-bbr as of August 2026, whose names are in parentheses).
//!
//! | file | section | what |
//! |---|---|---|
//! | `state` | 5.6.1 | the states and their gains |
//! | `losses` | 5.3.1.3, 5.5.10.2 | when losses are too many |
//! | `cycle` | 5.3.3 | the position in the cycle that probes for bandwidth |
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

mod cycle;
mod long_term;
mod losses;
mod min_rtt;
mod short_term;
mod state;
mod undo;
mod window;

use std::time::Duration;

use lasthop_packet::Instant;

use self::cycle::Cycle;
use self::long_term::LongTerm;
use self::losses::{LostRanges, inflight_at_loss, is_above_threshold};
use self::min_rtt::MinRtt;
use self::short_term::{ShortTerm, beta};
use self::state::{Gain, State};
use self::undo::Undo;
use self::window::{Window, min_pipe_cwnd};
use super::aggregation::Aggregation;
use super::dice::Dice;
use super::full_pipe::FullPipe;
use super::pacing_rate::PacingRate;
use super::probe_rtt_hold::ProbeRttHold;
use super::rate::{octets_in, per_second};
use super::rounds::Rounds;
use super::windowed_max::{TwoSlots, WindowedMax};
use crate::congestion::{AckSample, CongestionControl, Pacing, PathModel, PathSample, Reduction, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::{LostSegment, RetransmissionQueue};

//= draft-ietf-ccwg-bbr, section 2.11: BBR.ExtraAckedFilterLen; in Startup one round.
const AGGREGATION_ROUNDS: u64 = 10;
/// Maximum number of round trips of Drain.
const MAX_DRAIN_ROUNDS: u64 = 3;

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
    /// It sends after a pause, and no data was delivered since (`BBR.idle_restart`).
    is_restarting: bool,
    /// Whether the receiver sends SACK blocks (`C.has_selective_acks`).
    has_reports: bool,
    dice: Dice,
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

    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleLostPacket ().
    fn on_segment_lost(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        self.lost_ranges.add(lost);
        if self.short_term.on_loss(lost.delivered) {
            self.save_upon_loss(flight.cwnd);
        }
        if self.cycle.is_sampling() && self.is_too_much(lost.lost, lost.in_network) {
            self.handle_too_much(inflight_at_loss(lost), lost, now, flight);
        }
    }

    fn on_undo(&mut self, _flight: &Flight) {
        self.undo.on_spurious_loss();
    }
}

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

    /// `RS.delivery_rate`.
    fn rate(path: &PathSample<'_>) -> u64 {
        path.ack.rate.map_or(0, |rate| per_second(rate.delivered, rate.interval))
    }

    /// `UpdateMaxBw ()`.
    fn update_max_bandwidth(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        self.rounds.on_ack(path.ack.rate.as_ref(), path.queue.delivered());
        let Some(rate) = path.ack.rate else { return };
        if self.rounds.is_start() {
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
        let window = if self.full_pipe.was_reached() { AGGREGATION_ROUNDS } else { 1 };
        self.extra_acked.update(excess.min(u64::from(path.flight.cwnd)), self.rounds.count(), window);
    }

    /// Sets the pacing rate with this gain.
    fn set_pacing_rate(&mut self, gain: Gain) {
        self.pacing.set(gain.of(self.bandwidth), self.full_pipe.was_reached());
    }

    /// `IsInflightTooHigh ()`: too many of the octets in the network were lost.
    fn is_too_much(&self, lost: u64, in_network: u32) -> bool {
        is_above_threshold(lost, in_network) || (lost > 0 && !self.has_reports)
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.2: CheckFullBWReached ().
    fn check_full_pipe(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        if self.rounds.is_start() && !path.is_application_limited() {
            self.full_pipe.on_round(delivery_rate);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.1: CheckStartupDone ().
    fn check_startup_done(&mut self, path: &PathSample<'_>) {
        if self.state == State::Startup && self.is_loss_high(path) {
            self.undo.set_state(State::Startup);
            self.full_pipe.end();
            let safe = self.product(Gain::UNIT).max(self.short_term.volume_latest());
            self.long_term.set(safe);
        }
        if self.short_term.is_round_start() {
            self.lost_ranges = LostRanges::default();
        }
        if self.state == State::Startup && self.full_pipe.was_reached() {
            self.state = State::Drain;
            self.drain_start = self.rounds.count();
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.3: CheckStartupHighLoss ().
    fn is_loss_high(&self, path: &PathSample<'_>) -> bool {
        if path.stage != Stage::Recovery {
            return false;
        }
        if !self.has_reports {
            return true;
        }
        self.short_term.is_round_start()
            && self.lost_ranges.are_many()
            && path.ack.rate.is_some_and(|rate| self.is_too_much(rate.lost, rate.in_network))
    }

    //= draft-ietf-ccwg-bbr, section 5.3.2: CheckDrainDone ().
    fn check_drain_done(&mut self, path: &PathSample<'_>) {
        let is_drained = || u64::from(path.queue.in_network()) <= self.inflight(Gain::UNIT, path.flight.mss);
        let is_long = self.rounds.count() > self.drain_start + MAX_DRAIN_ROUNDS;
        if self.state == State::Drain && (is_long || is_drained()) {
            self.start_down(path.queue.delivered(), path.now());
        }
    }

    /// `UpdateProbeBWCyclePhase ()`.
    fn update_cycle(&mut self, path: &PathSample<'_>) {
        if !self.full_pipe.was_reached() || self.adapt_long_term(path) {
            return;
        }
        let (now, delivered) = (path.now(), path.queue.delivered());
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(path.flight, now) => {
                self.start_refill(delivered);
            }
            State::Down if self.is_time_to_cruise(path) => self.state = State::Cruise,
            State::Refill if self.rounds.is_start() => self.start_up(path),
            State::Up => self.check_up_done(path),
            _ => {}
        }
    }

    fn check_up_done(&mut self, path: &PathSample<'_>) {
        if self.is_time_to_go_down(path) {
            self.cycle.end_up();
            self.start_down(path.queue.delivered(), path.now());
        }
    }

    /// `AdaptLongTermModel ()`. Returns whether it changed the state.
    fn adapt_long_term(&mut self, path: &PathSample<'_>) -> bool {
        let has_new_probe = self.rounds.is_start() && self.cycle.on_round_start() && self.end_probe(path);
        if !has_new_probe {
            self.raise_long_term(path);
        }
        has_new_probe
    }

    /// Processes the last ACK of the probe. Returns whether another probe follows at once.
    fn end_probe(&mut self, path: &PathSample<'_>) -> bool {
        if !self.state.is_probing_bandwidth() {
            return false;
        }
        if !path.is_application_limited() {
            self.max_bandwidth.advance();
        }
        let probes_again = self.cycle.probes_again();
        if probes_again {
            self.start_refill(path.queue.delivered());
        }
        probes_again
    }

    /// Raises the volume if it is safe (the rest of `AdaptLongTermModel ()`).
    fn raise_long_term(&mut self, path: &PathSample<'_>) {
        let (Some(volume), Some(rate)) = (self.long_term.volume(), path.ack.rate) else { return };
        if self.is_too_much(rate.lost, rate.in_network) {
            return;
        }
        self.long_term.set(volume.max(u64::from(rate.in_network)));
        if self.state == State::Up {
            self.probe_upward(path);
        }
    }

    /// `ProbeInflightLongtermUpward ()`.
    fn probe_upward(&mut self, path: &PathSample<'_>) {
        if !self.is_limited_by_long_term(path.flight) {
            return;
        }
        self.long_term.grow(u64::from(path.ack.acked), path.flight.mss);
        if self.rounds.is_start() {
            self.long_term.raise_slope(path.flight);
        }
    }

    /// `StartProbeBW_DOWN ()`.
    fn start_down(&mut self, delivered: u64, now: Instant) {
        self.short_term.reset_signals();
        self.long_term.stop_growing();
        self.cycle.begin(&mut self.dice, now);
        self.rounds.begin(delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL ()`.
    fn start_refill(&mut self, delivered: u64) {
        self.short_term.reset();
        self.long_term.reset_growth();
        self.cycle.start_refill();
        self.rounds.begin(delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP ()`.
    fn start_up(&mut self, path: &PathSample<'_>) {
        self.cycle.start_up();
        self.rounds.begin(path.queue.delivered());
        self.full_pipe.reset_to(Self::rate(path));
        self.state = State::Up;
        self.long_term.raise_slope(path.flight);
    }

    /// `IsTimeToProbeBW ()`.
    fn is_time_to_probe(&self, flight: &Flight, now: Instant) -> bool {
        let reno_rounds = self.target_inflight(flight) / u64::from(flight.mss);
        self.cycle.is_time_to_probe(reno_rounds, now)
    }

    /// `IsTimeToCruise ()`.
    fn is_time_to_cruise(&self, path: &PathSample<'_>) -> bool {
        let (in_network, mss) = (u64::from(path.queue.in_network()), path.flight.mss);
        let has_headroom = self.long_term.with_headroom(mss).is_none_or(|max| in_network <= max);
        has_headroom && in_network <= self.inflight_at(self.max_bandwidth.get(), Gain::UNIT, mss)
    }

    /// `IsTimeToGoDown ()`.
    fn is_time_to_go_down(&mut self, path: &PathSample<'_>) -> bool {
        if self.long_term.limits(path.queue.in_network()) && self.cycle.ends_early() {
            return true;
        }
        if self.is_limited_by_long_term(path.flight) {
            self.full_pipe.reset_to(Self::rate(path));
            return false;
        }
        self.full_pipe.is_full()
    }

    /// Whether cwnd is used, and is not smaller than the volume.
    fn is_limited_by_long_term(&self, flight: &Flight) -> bool {
        self.window.is_used() && self.long_term.limits(flight.cwnd)
    }

    /// The target for the octets in the network, limited by cwnd (`TargetInflight ()`).
    fn target_inflight(&self, flight: &Flight) -> u64 {
        self.product(Gain::UNIT).min(u64::from(flight.cwnd))
    }

    /// `CheckProbeRTT ()`.
    fn check_probe_rtt(&mut self, path: &mut PathSample<'_>) {
        let delivered = path.queue.delivered();
        if self.state != State::ProbeRtt && self.min_rtt.is_expired() && !self.is_restarting {
            self.state = State::ProbeRtt;
            self.window.save(path.flight.cwnd, true);
            self.hold = ProbeRttHold::default();
            self.cycle.stop_sampling();
            self.rounds.begin(delivered);
        }
        if self.state == State::ProbeRtt {
            path.queue.record_application_limited();
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
    fn end_probe_rtt(&mut self, now: Instant, delivered: u64, flight: &mut Flight) {
        if !self.hold.is_done(now) {
            return;
        }
        self.min_rtt.keep_from(now);
        flight.cwnd = self.window.restored(flight.cwnd);
        self.short_term.reset();
        if self.full_pipe.was_reached() {
            self.start_down(delivered, now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.5.10.2: HandleInflightTooHigh ().
    fn handle_too_much(&mut self, in_network: u64, lost: &LostSegment, now: Instant, flight: &Flight) {
        self.cycle.on_too_much();
        if !lost.is_application_limited {
            self.long_term.set(in_network.max(beta(self.target_inflight(flight))));
        }
        if self.state == State::Up {
            self.undo.set_state(State::Up);
            self.start_down(lost.delivered, now);
        }
    }

    /// `SaveStateUponLoss ()`.
    fn save_upon_loss(&mut self, cwnd: u32) {
        self.window.save(cwnd, self.state == State::ProbeRtt);
        self.undo = Undo::new(&self.short_term, &self.long_term);
    }

    /// `HandleSpuriousLossDetection ()`, if due. The end of recovery, which comes with it, restores
    /// the window.
    fn undo_spurious_loss(&mut self, path: &PathSample<'_>) {
        let Some(undo) = self.undo.take_if_due() else { return };
        self.short_term.forget_loss();
        self.full_pipe.reset_to(0);
        undo.restore(&mut self.short_term, &mut self.long_term);
        let is_probing_rtt = self.state == State::ProbeRtt;
        match undo.state().filter(|state| *state != self.state) {
            Some(State::Startup) => {
                self.full_pipe = FullPipe::default();
                if !is_probing_rtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !is_probing_rtt => self.start_refill(path.queue.delivered()),
            _ => {}
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.6: SetCwnd ().
    fn set_window(&mut self, path: &mut PathSample<'_>) {
        let mss = path.flight.mss;
        let max = self.quantized(self.product(self.state.cwnd_gain()) + self.extra_acked.get(), mss);
        let mut cwnd = self.window.opened(max, self.full_pipe.was_reached(), path);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_window(mss));
        }
        path.flight.cwnd = cwnd.min(self.cap(mss)).min(1 << 30) as u32;
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.7: BoundCwndForModel ().
    fn cap(&self, mss: u32) -> u64 {
        let long_term = match self.state {
            State::Startup | State::Drain => None,
            State::Down | State::Refill | State::Up => self.long_term.volume(),
            State::Cruise | State::ProbeRtt => self.long_term.with_headroom(mss),
        };
        let (_, short_term) = self.short_term.limits();
        long_term.unwrap_or(u64::MAX).min(short_term.unwrap_or(u64::MAX)).max(min_pipe_cwnd(mss))
    }

    /// `ProbeRTTCwnd ()`.
    fn probe_rtt_window(&self, mss: u32) -> u64 {
        self.product(Gain::HALF).max(min_pipe_cwnd(mss))
    }

    /// `Inflight ()`.
    fn inflight(&self, gain: Gain, mss: u32) -> u64 {
        self.inflight_at(self.bandwidth, gain, mss)
    }

    fn inflight_at(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        self.quantized(self.product_at(bandwidth, gain), mss)
    }

    /// `BDPMultiple ()`.
    fn product(&self, gain: Gain) -> u64 {
        self.product_at(self.bandwidth, gain)
    }

    fn product_at(&self, bandwidth: u64, gain: Gain) -> u64 {
        self.min_rtt.get().map_or(self.window.initial(), |rtt| gain.of(octets_in(bandwidth, rtt)))
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.2: QuantizationBudget ().
    fn quantized(&self, volume: u64, mss: u32) -> u64 {
        let budget = 3 * self.pacing.send_quantum(mss);
        let more = if self.state == State::Up { 2 * u64::from(mss) } else { 0 };
        volume.max(budget).max(min_pipe_cwnd(mss)) + more
    }
}

#[cfg(test)]
mod tests;
