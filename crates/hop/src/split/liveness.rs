//! When a pair heard from its ends, and asked them. `inquiry` and `presence` have what follows from it.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::Instant;

/// Questions in vain until an end is taken to be gone, and the time between them (Linux
/// `tcp_keepalive_probes`, `tcp_keepalive_intvl`).
const MOST_UNANSWERED: u8 = 9;
const INQUIRES_EVERY: Duration = Duration::from_secs(75);

/// An end whose ACK is waited for is asked no more often.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// Questions to both ends of a connection that has been idle for long.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    /// When the next ones are due; `None` while there is no doubt.
    due: Option<Instant>,
    /// How often each end, on the core side and the radio side, was asked in vain.
    unanswered: [u8; 2],
}

impl Inquiry {
    /// When the next questions are due; `None` while there is no doubt.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Begins, if it has not begun.
    pub(super) fn begin(&mut self, now: Instant) {
        self.due.get_or_insert(now);
    }

    /// An end has been heard from.
    pub(super) fn on_heard(&mut self, from: Side) {
        self.unanswered[from as usize] = 0;
        if self.unanswered == [0; 2] {
            self.due = None;
        }
    }

    /// Whether an end is taken to be gone.
    pub(super) fn is_in_vain(&self) -> bool {
        self.unanswered.iter().any(|asked| *asked >= MOST_UNANSWERED)
    }

    /// An end is asked.
    pub(super) const fn on_asked(&mut self, side: Side) {
        self.unanswered[side as usize] += 1;
    }

    /// The ends have been asked. It ends where neither leg is there to ask.
    pub(super) fn go_round(&mut self, now: Instant) {
        self.due = (self.unanswered != [0; 2]).then(|| now + INQUIRES_EVERY);
    }
}

/// When each end, on the core side and the radio side, was heard from last, and was last sent something
/// that it has to answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    heard: [Option<Instant>; 2],
    asked: [Option<Instant>; 2],
}

impl Presence {
    /// Both ends were heard from.
    pub(super) const fn of_both(now: Instant) -> Self {
        Self { heard: [Some(now); 2], asked: [None; 2] }
    }

    /// An end was heard from.
    pub(super) const fn on_heard(&mut self, from: Side, now: Instant) {
        self.heard[from as usize] = Some(now);
    }

    /// An end was sent something that it has to answer.
    pub(super) const fn on_asked(&mut self, to: Side, now: Instant) {
        self.asked[to as usize] = Some(now);
    }

    /// Whether an end was heard from within this time.
    pub(super) fn was_heard_within(&self, side: Side, time: Duration, now: Instant) -> bool {
        self.heard[side as usize].is_some_and(|at| now.since(at) <= time)
    }

    /// Whether an end was asked lately.
    pub(super) fn is_asked(&self, side: Side, now: Instant) -> bool {
        self.asked[side as usize].is_some_and(|at| now.since(at) < ASKED_EVERY)
    }
}
