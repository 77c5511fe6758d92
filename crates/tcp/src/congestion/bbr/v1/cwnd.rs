//! cwnd: what the bandwidth-delay product needs, less in recovery, and next to nothing while the
//! round-trip time is probed.

use super::gain::Gain;
use super::model::{Bbr, Mode};
use super::window::{Conserving, LEAST_WINDOW};
use crate::congestion::PathSample;
use crate::congestion::bbr::rate::octets_in;

/// The window before a round-trip time is known, and octets delivered before which every ACK opens
/// it, in segments (`TCP_INIT_CWND`).
const INITIAL: u64 = 10;
/// Bursts for which the window has room beside the product: one leaves, one is put together, one
/// waits for its ACK.
const BURSTS: u64 = 3;

impl Bbr {
    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, path: &mut PathSample<'_>) {
        if path.ack.acked > 0 {
            path.flight.cwnd = match self.window.recover_or_restore(path, &mut self.rounds) {
                Conserving::Yes(cwnd) => cwnd,
                Conserving::No(cwnd) => self.approach_target(cwnd, path),
            };
        }
        if self.mode == Mode::ProbeRtt {
            path.flight.cwnd = path.flight.cwnd.min(LEAST_WINDOW * path.flight.mss);
        }
    }

    /// Opens the window as slow start does, up to what the path needs.
    fn approach_target(&self, cwnd: u32, path: &PathSample<'_>) -> u32 {
        let (bandwidth, mss) = (self.bandwidth(), path.flight.mss);
        let is_full = self.full_pipe.was_reached;
        let room = if is_full { self.extra_acked.room(bandwidth) } else { 0 };
        let target = self.quantized(self.product(bandwidth, self.cwnd_gain, mss) + room, mss);
        let mut cwnd = u64::from(cwnd);
        let acked = u64::from(path.ack.acked);
        if is_full {
            cwnd = (cwnd + acked).min(target);
        } else if cwnd < target || path.queue.delivered() < INITIAL * u64::from(mss) {
            cwnd += acked;
        }
        cwnd.clamp(u64::from(LEAST_WINDOW * mss), 1 << 30) as u32
    }

    /// What is to be in the network at this bandwidth (`bbr_inflight`).
    pub(super) fn window_for(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        self.quantized(self.product(bandwidth, gain, mss), mss)
    }

    /// The bandwidth-delay product, in octets of whole segments (`bbr_bdp`).
    fn product(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
        let mss = u64::from(mss);
        let Some(min_rtt) = self.min_rtt.get() else { return INITIAL * mss };
        gain.of(octets_in(bandwidth, min_rtt)).div_ceil(mss) * mss
    }

    /// With room for whole bursts, an even number of segments (`bbr_quantization_budget`).
    fn quantized(&self, octets: u64, mss: u32) -> u64 {
        let segments = octets.div_ceil(u64::from(mss)) + BURSTS * self.pacing.burst(mss);
        let more = if self.mode == Mode::ProbeBandwidth && self.cycle.is_faster() { 2 } else { 0 };
        (segments.next_multiple_of(2) + more) * u64::from(mss)
    }
}
