//! The transitions between modes, and the gains of each mode; for [`Mode::ProbeRtt`] see
//! `probe_rtt`.

use std::time::Duration;

use super::gain::Gain;
use super::model::{Bbr, Mode};
use crate::congestion::PathSample;
use crate::congestion::bbr::rate::octets_in;

impl Bbr {
    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, path: &PathSample<'_>) {
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
    pub(super) fn check_full_pipe(&mut self, path: &PathSample<'_>) {
        if !self.full_pipe.was_reached && self.rounds.is_start && !path.is_application_limited() {
            self.full_pipe.on_round(self.bandwidth.get());
        }
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, path: &mut PathSample<'_>) {
        if !matches!(self.mode, Mode::Startup | Mode::Drain) {
            return;
        }
        let drained = self.window_for(self.bandwidth.get(), Gain::UNIT, path.flight.mss);
        if self.mode == Mode::Startup && self.full_pipe.was_reached {
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
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (Gain::HIGH, Gain::HIGH),
            Mode::Drain => (Gain::DRAIN, Gain::HIGH),
            Mode::ProbeBandwidth if self.long_term.rate().is_some() => (Gain::UNIT, Gain::CWND),
            Mode::ProbeBandwidth => (self.cycle.gain(), Gain::CWND),
            Mode::ProbeRtt => (Gain::UNIT, Gain::UNIT),
        };
    }

    /// `bbr_set_pacing_rate`.
    pub(super) fn set_pacing_rate(&mut self, path: &PathSample<'_>) {
        self.pacing.on_rtt(path.flight.cwnd, path.ack.srtt, |rate| Gain::HIGH.of(rate));
        self.pacing.set(self.pacing_gain.of(self.bandwidth()), self.full_pipe.was_reached);
    }
}
