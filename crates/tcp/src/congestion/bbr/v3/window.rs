//! The saved cwnd, and its use (draft-ietf-ccwg-bbr, section 5.6.4).

use crate::congestion::{PathSample, Stage};
use crate::flight::Flight;

/// `BBR.MinPipeCwnd`.
pub(super) const fn min_pipe_cwnd(mss: u32) -> u64 {
    4 * mss as u64
}

/// The saved window, its use, and the stage of recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// `C.InitialCwnd`.
    initial: u64,
    /// The last window before a reduction (`BBR.prior_cwnd`).
    prior: u32,
    /// The stage of recovery at the last ACK.
    stage: Stage,
    /// The window was fully used in this round trip, or in the last one (`C.is_cwnd_limited`).
    is_used: bool,
    was_used: bool,
}

impl Window {
    pub(super) fn begin(&mut self, cwnd: u32) {
        self.initial = u64::from(cwnd);
    }

    pub(super) const fn initial(&self) -> u64 {
        self.initial
    }

    pub(super) const fn begin_round(&mut self) {
        (self.was_used, self.is_used) = (self.is_used, false);
    }

    pub(super) const fn update_use(&mut self, in_network: u32, flight: &Flight) {
        self.is_used |= in_network + flight.mss > flight.cwnd;
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used || self.was_used
    }

    pub(super) const fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// `SaveCwnd ()`.
    pub(super) fn save(&mut self, cwnd: u32, is_probing_rtt: bool) {
        let is_unreduced = !self.stage.is_recovering() && !is_probing_rtt;
        self.prior = if is_unreduced { cwnd } else { self.restored(cwnd) };
    }

    /// `RestoreCwnd ()`.
    pub(super) fn restored(&self, cwnd: u32) -> u32 {
        cwnd.max(self.prior)
    }

    /// The window after an ACK, up to `max` once the pipe was full.
    pub(super) fn opened(&mut self, max: u64, was_full: bool, path: &PathSample<'_>) -> u64 {
        let (mut cwnd, acked) = (path.flight.cwnd, u64::from(path.ack.acked));
        //= draft-ietf-ccwg-bbr, section 5.6.4.4: on exiting loss recovery, RestoreCwnd ().
        if self.stage.is_recovering() && !path.stage.is_recovering() {
            cwnd = self.restored(cwnd);
        }
        self.stage = path.stage;
        let mut cwnd = u64::from(cwnd);
        if was_full {
            cwnd = (cwnd + acked).min(max);
        } else if cwnd < max || path.queue.delivered() < self.initial {
            cwnd += acked;
        }
        cwnd.max(min_pipe_cwnd(path.flight.mss))
    }
}
