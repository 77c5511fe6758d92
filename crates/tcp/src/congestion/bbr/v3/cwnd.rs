//! cwnd: derived from the bandwidth-delay product, within the limits of the model
//! (draft-ietf-ccwg-bbr, section 5.6.4).

use super::model::Bbr3;
use super::state::{Gain, State};
use super::window::min_pipe_cwnd;
use crate::congestion::PathSample;
use crate::congestion::bbr::rate::octets_in;

impl Bbr3 {
    //= draft-ietf-ccwg-bbr, section 5.6.4.6: SetCwnd ().
    pub(super) fn set_window(&mut self, path: &mut PathSample<'_>) {
        let (mss, acked) = (path.flight.mss, u64::from(path.ack.acked));
        let mut cwnd = u64::from(self.window.recovered(path.stage, path.flight.cwnd));
        let max = self.quantized(self.product(self.state.cwnd_gain()) + self.extra_acked.get(), mss);
        if self.full_pipe.was_reached {
            cwnd = (cwnd + acked).min(max);
        } else if cwnd < max || path.queue.delivered() < self.window.initial() {
            cwnd += acked;
        }
        cwnd = cwnd.max(min_pipe_cwnd(mss));
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
        let cap = long_term.unwrap_or(u64::MAX).min(self.short_term.volume.unwrap_or(u64::MAX));
        cap.max(min_pipe_cwnd(mss))
    }

    /// `ProbeRTTCwnd ()`.
    pub(super) fn probe_rtt_window(&self, mss: u32) -> u64 {
        self.product(Gain::HALF).max(min_pipe_cwnd(mss))
    }

    /// `Inflight ()`.
    pub(super) fn inflight(&self, gain: Gain, mss: u32) -> u64 {
        self.inflight_at(self.bandwidth, gain, mss)
    }

    pub(super) fn inflight_at(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        self.quantized(self.product_at(bandwidth, gain), mss)
    }

    /// `BDPMultiple ()`.
    pub(super) fn product(&self, gain: Gain) -> u64 {
        self.product_at(self.bandwidth, gain)
    }

    fn product_at(&self, bandwidth: u64, gain: Gain) -> u64 {
        self.min_rtt.get().map_or(self.window.initial(), |rtt| gain.of(octets_in(bandwidth, rtt)))
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.2: QuantizationBudget ().
    fn quantized(&self, volume: u64, mss: u32) -> u64 {
        let budget = 3 * self.send_quantum(mss);
        let more = if self.state == State::Up { 2 * u64::from(mss) } else { 0 };
        volume.max(budget).max(min_pipe_cwnd(mss)) + more
    }

    //= draft-ietf-ccwg-bbr, section 5.6.3: SetSendQuantum ().
    fn send_quantum(&self, mss: u32) -> u64 {
        (self.pacing.get().rate / 1000).min(64 * 1024).max(2 * u64::from(mss))
    }
}
