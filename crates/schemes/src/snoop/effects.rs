//! The effects of data, acknowledgments and the timer on a flow, which the agent acts on.

use lasthop_agent::Verdict;
use lasthop_hop::last_hop::Progress;

/// The effect of a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataEffect {
    /// The local timer restarts.
    pub restart_timer: bool,
    /// The bound that kept the packet out of the cache.
    pub at_bound: Option<&'static str>,
}

/// The effect of an acknowledgment.
#[derive(Debug)]
pub struct AckEffect {
    /// The verdict on it.
    pub verdict: Verdict,
    /// The action on the local timer.
    pub timer: TimerAction,
    /// What it shows about the hop, if anything.
    pub progress: Option<Progress>,
}

/// The effect of the local timer's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEffect {
    /// It was not due yet.
    NotDue,
    /// The reordering window ended: its overtaken segments now count as lost.
    WindowEnded,
    /// An acknowledgment is overdue.
    Expired {
        /// The retransmissions are used up.
        has_given_up: bool,
        /// The action on the local timer.
        timer: TimerAction,
    },
}

/// An action on the local timer of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// It stays as it is.
    Keep,
    /// It starts if it does not run.
    Start,
    /// It restarts.
    Restart,
    /// It is set to the current due time, unless it expires earlier anyway.
    Follow,
}
