//! The model before losses (draft-ietf-ccwg-bbr, section 5.5.11).

use super::long_term::LongTerm;
use super::short_term::ShortTerm;

/// The state that losses ended (`BBR.undo_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// [`State::Startup`](super::state::State::Startup).
    Startup,
    /// [`State::Up`](super::state::State::Up).
    Up,
}

/// The model before losses (`BBR.undo_bw_shortterm` and so on).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) state: Option<Return>,
    bandwidth: Option<u64>,
    volume: Option<u64>,
    long_term: Option<u64>,
    /// The loss was spurious.
    pub(super) is_due: bool,
}

impl Undo {
    pub(super) const fn new(short_term: &ShortTerm, long_term: &LongTerm) -> Self {
        Self {
            state: None,
            bandwidth: short_term.bandwidth,
            volume: short_term.volume,
            long_term: long_term.volume(),
            is_due: false,
        }
    }

    /// Raises each limit to at least its value before the losses.
    pub(super) fn restore(&self, short_term: &mut ShortTerm, long_term: &mut LongTerm) {
        short_term.raise_to(self.bandwidth, self.volume);
        long_term.raise_to(self.long_term);
    }
}
