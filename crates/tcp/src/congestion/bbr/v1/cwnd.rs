//! cwnd: derived from the bandwidth-delay product, reduced in recovery, and minimal while the
//! round-trip time is probed.

use super::gain::Gain;
use super::model::{Bbr, Mode};
use super::window::{Conserving, MIN_WINDOW};
use crate::congestion::PathSample;
use crate::congestion::bbr::rate::octets_in;

/// In segments, the window before a round-trip time is known, and the amount of delivered data up
/// to which every ACK opens the window (`TCP_INIT_CWND`).
const INITIAL: u64 = 10;
/// Bursts for which the window has room in addition to the product: one being sent, one being
/// assembled, one waiting for its ACK.
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
            path.flight.cwnd = path.flight.cwnd.min(MIN_WINDOW * path.flight.mss);
        }
    }

    /// Opens the window as in slow start, up to the target.
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
        cwnd.clamp(u64::from(MIN_WINDOW * mss), 1 << 30) as u32
    }

    /// The target for the octets in the network at this bandwidth (`bbr_inflight`).
    pub(super) fn window_for(&self, bandwidth: u64, gain: Gain, mss: u32) -> u64 {
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
