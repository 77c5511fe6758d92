//! What data, an acknowledgment and the timer have done to a flow, for the agent to act on.

use lasthop_agent::Verdict;
use lasthop_hop::last_hop::Progress;

/// What a data packet did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataEffect {
    /// The local timer starts anew.
    pub restart_timer: bool,
    /// The bound that kept the packet out of the cache.
    pub at_bound: Option<&'static str>,
}

/// What an acknowledgment did.
#[derive(Debug)]
pub struct AckEffect {
    /// What becomes of it.
    pub verdict: Verdict,
    /// What the timer does.
    pub timer: TimerAction,
    /// What it shows of the hop; `None` where it shows nothing.
    pub progress: Option<Progress>,
}

/// What the local timer's expiry did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEffect {
    /// It was not due yet.
    NotDue,
    /// What few segments had overtaken counts as lost now.
    WindowEnded,
    /// An acknowledgment is overdue.
    Expired {
        /// Retransmissions are used up.
        has_given_up: bool,
        /// What the timer does.
        timer: TimerAction,
    },
}

/// What the local timer of a flow is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// It stays as it is.
    Keep,
    /// It starts if it does not run.
    Start,
    /// It starts anew.
    Restart,
    /// It runs to when it is due now. One that is due too early is left alone.
    Follow,
}
