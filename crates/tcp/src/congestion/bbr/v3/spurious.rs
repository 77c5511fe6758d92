//! Undo of the effects of a spurious loss (draft-ietf-ccwg-bbr, section 5.5.11).

use super::model::Bbr3;
use super::state::State;
use super::undo::{Return, Undo};
use crate::congestion::PathSample;

impl Bbr3 {
    /// `SaveStateUponLoss ()`.
    pub(super) fn save_upon_loss(&mut self, cwnd: u32) {
        self.window.save(cwnd, self.state == State::ProbeRtt);
        self.undo = Undo::new(&self.short_term, &self.long_term);
    }

    /// `HandleSpuriousLossDetection ()`, if due. The end of recovery, which comes with it, restores
    /// the window.
    pub(super) fn undo_spurious_loss(&mut self, path: &PathSample<'_>) {
        if !std::mem::take(&mut self.undo.is_due) {
            return;
        }
        self.short_term.forget_loss();
        self.full_pipe.reset_to(0);
        self.undo.restore(&mut self.short_term, &mut self.long_term);
        let is_probing_rtt = self.state == State::ProbeRtt;
        match self.undo.state.take() {
            Some(Return::Startup) if self.state != State::Startup => {
                self.full_pipe.was_reached = false;
                if !is_probing_rtt {
                    self.state = State::Startup;
                }
            }
            Some(Return::Up) if self.state != State::Up && !is_probing_rtt => {
                self.start_refill(path.queue.delivered());
            }
            _ => {}
        }
    }
}
