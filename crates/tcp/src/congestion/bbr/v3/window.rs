//! cwnd: what the bandwidth-delay product needs, within what the path takes (draft-ietf-ccwg-bbr,
//! section 5.6.4).

use super::Bbr3;
use super::state::{Gain, State};
use crate::congestion::bbr::rate::octets_in;
use crate::congestion::{PathSample, Stage};
use crate::flight::Flight;

/// `BBR.MinPipeCwnd`.
pub(super) const fn least(mss: u32) -> u64 {
    4 * mss as u64
}

/// What is remembered of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// `C.InitialCwnd`.
    initial: u64,
    /// The last one that nothing had reduced (`BBR.prior_cwnd`).
    prior: u32,
    /// What recovery did at the last ACK.
    stage: Stage,
    /// It was used up in this round trip, or in the last one (`C.is_cwnd_limited`).
    is_used: bool,
    was_used: bool,
}

impl Window {
    pub(super) fn begin(&mut self, cwnd: u32) {
        self.initial = u64::from(cwnd);
    }

    pub(super) const fn begin_round(&mut self) {
        (self.was_used, self.is_used) = (self.is_used, false);
    }

    pub(super) const fn note_use(&mut self, in_network: u32, flight: &Flight) {
        self.is_used |= in_network + flight.mss > flight.cwnd;
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used || self.was_used
    }

    pub(super) const fn note_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// `RestoreCwnd ()`.
    pub(super) fn restored(&self, cwnd: u32) -> u32 {
        cwnd.max(self.prior)
    }
}

impl Bbr3 {
    /// `SaveCwnd ()`.
    pub(super) fn save_window(&mut self, cwnd: u32) {
        let is_good = !self.window.stage.is_recovering() && self.state != State::ProbeRtt;
        self.window.prior = if is_good { cwnd } else { self.window.restored(cwnd) };
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.6: SetCwnd ().
    pub(super) fn set_window(&mut self, path: &mut PathSample<'_>) {
        let (mss, acked) = (path.flight.mss, u64::from(path.ack.acked));
        let mut cwnd = u64::from(path.flight.cwnd);
        //= draft-ietf-ccwg-bbr, section 5.6.4.4: on exiting loss recovery, RestoreCwnd ().
        if self.window.stage.is_recovering() && !path.stage.is_recovering() {
            cwnd = u64::from(self.window.restored(path.flight.cwnd));
        }
        self.window.stage = path.stage;
        let most = self.quantized(self.product(self.state.cwnd_gain()) + self.extra_acked.get(), mss);
        if self.full_pipe.was_reached {
            cwnd = (cwnd + acked).min(most);
        } else if cwnd < most || path.queue.delivered() < self.window.initial {
            cwnd += acked;
        }
        cwnd = cwnd.max(least(mss));
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
        cap.max(least(mss))
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
        self.min_rtt.get().map_or(self.window.initial, |rtt| gain.of(octets_in(bandwidth, rtt)))
    }

    //= draft-ietf-ccwg-bbr, section 5.6.4.2: QuantizationBudget ().
    fn quantized(&self, volume: u64, mss: u32) -> u64 {
        let budget = 3 * self.send_quantum(mss);
        let more = if self.state == State::Up { 2 * u64::from(mss) } else { 0 };
        volume.max(budget).max(least(mss)) + more
    }

    //= draft-ietf-ccwg-bbr, section 5.6.3: SetSendQuantum ().
    fn send_quantum(&self, mss: u32) -> u64 {
        (self.pacing.get().rate / 1000).min(64 * 1024).max(2 * u64::from(mss))
    }
}
