//! The limits before losses (draft-ietf-ccwg-bbr, section 5.5.11).

use super::long_term::LongTerm;
use super::short_term::ShortTerm;
use super::state::State;

/// The limits before losses (`BBR.undo_bw_shortterm` and so on).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that losses ended (`BBR.undo_state`): [`State::Startup`] or [`State::Up`].
    state: Option<State>,
    /// Of bandwidth and volume.
    short_term: (Option<u64>, Option<u64>),
    long_term: Option<u64>,
    /// The loss was spurious.
    is_due: bool,
}

impl Undo {
    pub(super) const fn new(short_term: &ShortTerm, long_term: &LongTerm) -> Self {
        let (short_term, long_term) = (short_term.limits(), long_term.volume());
        Self { state: None, short_term, long_term, is_due: false }
    }

    pub(super) const fn set_state(&mut self, ended: State) {
        self.state = Some(ended);
    }

    pub(super) const fn state(&self) -> Option<State> {
        self.state
    }

    pub(super) const fn on_spurious_loss(&mut self) {
        self.is_due = true;
    }

    /// What to restore, once, if the loss was spurious.
    pub(super) fn take_if_due(&mut self) -> Option<Self> {
        if !self.is_due {
            return None;
        }
        let undo = *self;
        (self.state, self.is_due) = (None, false);
        Some(undo)
    }

    /// Raises each limit to at least its value before the losses.
    pub(super) fn restore(&self, short_term: &mut ShortTerm, long_term: &mut LongTerm) {
        short_term.raise_to(self.short_term);
        long_term.raise_to(self.long_term);
    }
}
