//! What is remembered of cwnd, and what recovery makes of it.

use crate::congestion::bbr::rounds::Rounds;
use crate::congestion::{PathSample, Stage};

/// The window while the round-trip time is probed, and the least one else, in segments
/// (`bbr_cwnd_min_target`).
pub(super) const LEAST_WINDOW: u32 = 4;

/// What is remembered of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// The last one that no recovery had reduced (`prior_cwnd`).
    prior: u32,
    /// What recovery did at the last ACK (`prev_ca_state`).
    stage: Stage,
    /// In the first round trip of recovery, as much leaves as is delivered
    /// (`packet_conservation`).
    is_conserving: bool,
}

impl Window {
    /// `bbr_save_cwnd`.
    pub(super) const fn save(&mut self, cwnd: u32, is_probing_rtt: bool) {
        let is_good = matches!(self.stage, Stage::Open) && !is_probing_rtt;
        if is_good || cwnd > self.prior {
            self.prior = cwnd;
        }
    }

    /// What the window is after it was reduced for a while.
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

    pub(super) const fn note_loss_state(&mut self) {
        self.stage = Stage::Loss;
    }

    /// `bbr_set_cwnd_to_recover_or_restore`. A round trip begins with recovery.
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

/// Whether as much leaves as is delivered, and the window.
pub(super) enum Conserving {
    Yes(u32),
    No(u32),
}
