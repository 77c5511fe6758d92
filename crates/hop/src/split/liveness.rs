//! When a pair heard from its ends, and asked them. `inquiry` and `presence` have the rules.

use lasthop_agent::Side;
use lasthop_packet::Instant;

/// Questions to both ends.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    /// When the next ones are due; `None` while there is no doubt.
    pub(super) due: Option<Instant>,
    /// How often each end, on the core side and the radio side, was asked in vain.
    pub(super) unanswered: [u8; 2],
}

impl Inquiry {
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// An end has been heard from.
    pub(super) fn on_heard(&mut self, from: Side) {
        self.unanswered[from as usize] = 0;
        if self.unanswered == [0; 2] {
            self.due = None;
        }
    }
}

/// When each end, on the core side and the radio side, was heard from last, and was last sent something
/// that it has to answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    pub(super) heard: [Option<Instant>; 2],
    pub(super) asked: [Option<Instant>; 2],
}

impl Presence {
    /// Both ends were heard from.
    pub(super) const fn of_both(now: Instant) -> Self {
        Self { heard: [Some(now); 2], asked: [None; 2] }
    }
}
