//! The saved cwnd, and its use (draft-ietf-ccwg-bbr, section 5.6.4).

use crate::congestion::Stage;
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

    /// Records the stage of recovery after an ACK. Returns the window before that ACK opens it.
    pub(super) fn recovered(&mut self, stage: Stage, cwnd: u32) -> u32 {
        //= draft-ietf-ccwg-bbr, section 5.6.4.4: on exiting loss recovery, RestoreCwnd ().
        let is_over = self.stage.is_recovering() && !stage.is_recovering();
        self.stage = stage;
        if is_over { self.restored(cwnd) } else { cwnd }
    }
}
