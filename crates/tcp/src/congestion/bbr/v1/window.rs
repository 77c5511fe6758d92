//! The saved cwnd, and cwnd in recovery.

use crate::congestion::bbr::rounds::Rounds;
use crate::congestion::{PathSample, Stage};

/// The minimum window, and the window while the round-trip time is probed, in segments
/// (`bbr_cwnd_min_target`).
pub(super) const MIN_WINDOW: u32 = 4;

/// The saved window and the stage of recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// The last window before a reduction by recovery (`prior_cwnd`).
    prior: u32,
    /// The stage of recovery at the last ACK (`prev_ca_state`).
    stage: Stage,
    /// In the first round trip of recovery, as many octets are sent as are delivered
    /// (`packet_conservation`).
    is_conserving: bool,
}

impl Window {
    /// `bbr_save_cwnd`.
    pub(super) const fn save(&mut self, cwnd: u32, is_probing_rtt: bool) {
        let is_unreduced = matches!(self.stage, Stage::Open) && !is_probing_rtt;
        if is_unreduced || cwnd > self.prior {
            self.prior = cwnd;
        }
    }

    /// The window after a temporary reduction.
    pub(super) fn restored(self, cwnd: u32) -> u32 {
        cwnd.max(self.prior)
    }

    #[cfg(test)]
    pub(super) const fn is_saved(self, cwnd: u32) -> bool {
        self.prior == cwnd
    }

    pub(super) const fn end_conservation(&mut self) {
        self.is_conserving = false;
    }

    pub(super) const fn enter_loss_stage(&mut self) {
        self.stage = Stage::Loss;
    }

    /// `bbr_set_cwnd_to_recover_or_restore`. Recovery begins a round trip.
    pub(super) fn recover_or_restore(&mut self, path: &PathSample<'_>, rounds: &mut Rounds) -> Conserving {
        let (mut cwnd, mss) = (path.flight.cwnd, path.flight.mss);
        if path.lost > 0 {
            cwnd = cwnd.saturating_sub(path.lost).max(mss);
        }
        let conserving = path.queue.in_network() + path.ack.acked;
        let (before, stage) = (self.stage, path.stage);
        if stage == Stage::Recovery && before != Stage::Recovery {
            self.is_conserving = true;
            rounds.begin(path.queue.delivered());
            cwnd = conserving;
        } else if before.is_recovering() && !stage.is_recovering() {
            cwnd = self.restored(cwnd);
            self.is_conserving = false;
        }
        self.stage = stage;
        if self.is_conserving { Conserving::Yes(cwnd.max(conserving).max(mss)) } else { Conserving::No(cwnd) }
    }
}

/// The window, with or without packet conservation.
pub(super) enum Conserving {
    Yes(u32),
    No(u32),
}
