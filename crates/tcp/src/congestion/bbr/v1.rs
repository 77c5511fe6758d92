//! BBR version 1 as in Linux 6.18 (`net/ipv4/tcp_bbr.c`, whose names are in parentheses).
//!
//! | file | what |
//! |---|---|
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

mod extra_acked;
mod gain_cycle;
mod long_term;
mod min_rtt;
mod window;

use std::time::Duration;

use lasthop_packet::Instant;

use self::extra_acked::ExtraAcked;
use self::gain_cycle::{Gain, GainCycle};
use self::long_term::LongTerm;
use self::min_rtt::MinRtt;
use self::window::{Conserving, MIN_WINDOW, Window};
use super::dice::Dice;
use super::full_pipe::FullPipe;
use super::pacing_rate::PacingRate;
use super::probe_rtt_hold::ProbeRttHold;
use super::rate::{octets_in, per_second};
use super::rounds::Rounds;
use super::windowed_max::WindowedMax;
use crate::congestion::{AckSample, CongestionControl, Pacing, PathModel, PathSample, Reduction};
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;

/// Round trips for which a bandwidth counts (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// In segments, the window before a round-trip time is known, and the amount of delivered data up
/// to which every ACK opens the window (`TCP_INIT_CWND`).
const INITIAL: u64 = 10;
/// Bursts for which the window has room in addition to the product: one being sent, one being
/// assembled, one waiting for its ACK.
const BURSTS: u64 = 3;

/// `bbr_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round trip.
    #[default]
    Startup,
    /// Drains the queue of [`Self::Startup`].
    Drain,
    /// Sends at the bandwidth, and probes for more.
    ProbeBandwidth,
    /// Keeps a minimum in the network, to measure the round-trip time.
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    mode: Mode,
    rounds: Rounds,
    bandwidth: WindowedMax,
    full_pipe: FullPipe,
    min_rtt: MinRtt,
    cycle: GainCycle,
    long_term: LongTerm,
    extra_acked: ExtraAcked,
    hold: ProbeRttHold,
    window: Window,
    pacing: PacingRate,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// It sends after a pause, and no data was delivered since.
    is_restarting: bool,
    dice: Dice,
}

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
            self.extra_acked.update(acked, bandwidth, self.rounds.is_start(), path.flight.cwnd, delivered_at);
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
            Mode::ProbeBandwidth => self.pacing.set(self.bandwidth(), self.full_pipe.was_reached()),
            Mode::ProbeRtt => self.end_probe_rtt(now, flight),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_set_state`.
    fn on_loss_state(&mut self, _now: Instant, queue: &RetransmissionQueue) {
        self.window.enter_loss_stage();
        self.full_pipe.clear_baseline();
        // A time-out counts as the end of a round trip.
        self.sample_long_term(true, false, true, queue);
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

impl Bbr {
    /// The bandwidth in use: the policer's rate, or else the maximum (`bbr_bw`).
    fn bandwidth(&self) -> u64 {
        self.long_term.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// `bbr_reset_probe_bw_mode`.
    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.begin(&mut self.dice, now);
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, path: &PathSample<'_>) {
        self.rounds.on_ack(path.ack.rate.as_ref(), path.queue.delivered());
        let Some(rate) = path.ack.rate else { return };
        if self.rounds.is_start() {
            self.window.end_conservation();
        }
        let (has_loss, is_start) = (path.lost > 0, self.rounds.is_start());
        self.sample_long_term(has_loss, rate.is_application_limited, is_start, path.queue);
        let bandwidth = per_second(rate.delivered, rate.interval);
        if !rate.is_application_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(bandwidth, self.rounds.count(), BANDWIDTH_ROUNDS);
        }
    }

    /// `bbr_lt_bw_sampling`.
    fn sample_long_term(
        &mut self,
        has_loss: bool,
        is_application_limited: bool,
        is_round_start: bool,
        queue: &RetransmissionQueue,
    ) {
        if self.long_term.rate().is_some() {
            let counts = self.mode == Mode::ProbeBandwidth && is_round_start;
            if counts && self.long_term.expires() {
                self.probe_bandwidth(queue.delivered_at());
            }
        } else if self.long_term.finds_policer(has_loss, is_application_limited, is_round_start, queue) {
            self.pacing_gain = Gain::UNIT;
        }
    }

    /// `bbr_update_cycle_phase`.
    fn update_cycle(&mut self, path: &PathSample<'_>) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let delivered_at = path.queue.delivered_at();
        let is_full_length =
            delivered_at.since(self.cycle.start()) > self.min_rtt.get().unwrap_or(Duration::MAX);
        let is_next = if self.pacing_gain == Gain::UNIT {
            is_full_length
        } else {
            let in_network = self.in_network_at_departure(path.in_network_before, path);
            let target = |gain| self.window_for(self.bandwidth.get(), gain, path.flight.mss);
            if self.pacing_gain > Gain::UNIT {
                is_full_length && (path.lost > 0 || in_network >= target(self.pacing_gain))
            } else {
                is_full_length || in_network <= target(Gain::UNIT)
            }
        };
        if is_next {
            self.cycle.advance(delivered_at);
        }
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_pipe(&mut self, path: &PathSample<'_>) {
        if !self.full_pipe.was_reached() && self.rounds.is_start() && !path.is_application_limited() {
            self.full_pipe.on_round(self.bandwidth.get());
        }
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, path: &mut PathSample<'_>) {
        if !matches!(self.mode, Mode::Startup | Mode::Drain) {
            return;
        }
        let drained = self.window_for(self.bandwidth.get(), Gain::UNIT, path.flight.mss);
        if self.mode == Mode::Startup && self.full_pipe.was_reached() {
            self.mode = Mode::Drain;
            path.flight.ssthresh = u32::try_from(drained).unwrap_or(u32::MAX);
        }
        let in_network = path.queue.in_network();
        if self.mode == Mode::Drain && self.in_network_at_departure(in_network, path) <= drained {
            self.probe_bandwidth(path.queue.delivered_at());
        }
    }

    /// The octets that will remain in the network when the next segment may be sent
    /// (`bbr_packets_in_net_at_edt`).
    fn in_network_at_departure(&self, now_in_network: u32, path: &PathSample<'_>) -> u64 {
        let burst = self.pacing.burst(path.flight.mss) * u64::from(path.flight.mss);
        let sent = if self.pacing_gain > Gain::UNIT { burst } else { 0 };
        let delivered = octets_in(self.bandwidth(), path.next_departure.since(path.now()));
        (u64::from(now_in_network) + sent).saturating_sub(delivered)
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (Gain::HIGH, Gain::HIGH),
            Mode::Drain => (Gain::DRAIN, Gain::HIGH),
            Mode::ProbeBandwidth if self.long_term.rate().is_some() => (Gain::UNIT, Gain::CWND),
            Mode::ProbeBandwidth => (self.cycle.gain(), Gain::CWND),
            Mode::ProbeRtt => (Gain::UNIT, Gain::UNIT),
        };
    }

    /// `bbr_set_pacing_rate`.
    fn set_pacing_rate(&mut self, path: &PathSample<'_>) {
        self.pacing.on_rtt(path.flight.cwnd, path.ack.srtt, |rate| Gain::HIGH.of(rate));
        self.pacing.set(self.pacing_gain.of(self.bandwidth()), self.full_pipe.was_reached());
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, path: &mut PathSample<'_>) {
        let now = path.now();
        let is_expired = self.min_rtt.update(path.ack.rtt, path.is_delayed, now);
        if is_expired && !self.is_restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.window.save(path.flight.cwnd, true);
            self.hold = ProbeRttHold::default();
        }
        if self.mode == Mode::ProbeRtt {
            path.queue.record_application_limited();
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
    fn end_probe_rtt(&mut self, now: Instant, flight: &mut Flight) {
        if !self.hold.is_done(now) {
            return;
        }
        self.min_rtt.keep_from(now);
        flight.cwnd = self.window.restored(flight.cwnd);
        if self.full_pipe.was_reached() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, path: &mut PathSample<'_>) {
        if path.ack.acked > 0 {
            path.flight.cwnd = match self.window.recover_or_restore(path, &mut self.rounds) {
                Conserving::Yes(cwnd) => cwnd,
                Conserving::No(cwnd) => self.approach_target(cwnd, path),
            };
        }
        if self.mode == Mode::ProbeRtt {
            path.flight.cwnd = path.flight.cwnd.min(MIN_WINDOW * path.flight.mss);
        }
    }

    /// Opens the window as in slow start, up to the target.
    fn approach_target(&self, cwnd: u32, path: &PathSample<'_>) -> u32 {
        let (bandwidth, mss) = (self.bandwidth(), path.flight.mss);
        let is_full = self.full_pipe.was_reached();
        let room = if is_full { self.extra_acked.room(bandwidth) } else { 0 };
        let target = self.quantized(self.product(bandwidth, self.cwnd_gain, mss) + room, mss);
        let mut cwnd = u64::from(cwnd);
        let acked = u64::from(path.ack.acked);
        if is_full {
            cwnd = (cwnd + acked).min(target);
        } else if cwnd < target || path.queue.delivered() < INITIAL * u64::from(mss) {
            cwnd += acked;
        }
        cwnd.clamp(u64::from(MIN_WINDOW * mss), 1 << 30) as u32
    }

    /// The target for the octets in the network at this bandwidth (`bbr_inflight`).
    fn window_for(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        self.quantized(self.product(bandwidth, gain, mss), mss)
    }

    /// The bandwidth-delay product, in octets, rounded up to full segments (`bbr_bdp`).
    fn product(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        let mss = u64::from(mss);
        let Some(min_rtt) = self.min_rtt.get() else { return INITIAL * mss };
        gain.of(octets_in(bandwidth, min_rtt)).div_ceil(mss) * mss
    }

    /// Adds room for full bursts, and rounds up to an even number of segments
    /// (`bbr_quantization_budget`).
    fn quantized(&self, octets: u64, mss: u32) -> u64 {
        let segments = octets.div_ceil(u64::from(mss)) + BURSTS * self.pacing.burst(mss);
        let more = if self.mode == Mode::ProbeBandwidth && self.cycle.is_faster() { 2 } else { 0 };
        (segments.next_multiple_of(2) + more) * u64::from(mss)
    }
}

#[cfg(test)]
mod tests;
