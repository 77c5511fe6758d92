//! A loss that was none: what it did is taken back (draft-ietf-ccwg-bbr, section 5.5.11).

use super::Bbr3;
use super::state::State;
use crate::congestion::PathSample;

/// The state that losses ended (`BBR.undo_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// [`State::Startup`].
    Startup,
    /// [`State::Up`].
    Up,
}

/// The model before losses (`BBR.undo_bw_shortterm` and so on).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) state: Option<Return>,
    bandwidth: Option<u64>,
    volume: Option<u64>,
    long_term: Option<u64>,
    /// The loss was none.
    pub(super) is_due: bool,
}

impl Bbr3 {
    /// `SaveStateUponLoss ()`.
    pub(super) fn save_upon_loss(&mut self, cwnd: u32) {
        self.save_window(cwnd);
        self.undo = Undo {
            state: None,
            bandwidth: self.short_term.bandwidth,
            volume: self.short_term.volume,
            long_term: self.long_term.volume(),
            is_due: false,
        };
    }

    /// `HandleSpuriousLossDetection ()`, if it is due. The window is restored with the end of
    /// recovery, which comes with it.
    pub(super) fn take_back(&mut self, path: &PathSample<'_>) {
        if !std::mem::take(&mut self.undo.is_due) {
            return;
        }
        self.short_term.forget_loss();
        self.full_pipe.reset_to(0);
        let larger = |now: Option<u64>, before: Option<u64>| now.zip(before).map(|(a, b)| a.max(b));
        self.short_term.bandwidth = larger(self.short_term.bandwidth, self.undo.bandwidth);
        self.short_term.volume = larger(self.short_term.volume, self.undo.volume);
        self.long_term.raise_to(self.undo.long_term);
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
