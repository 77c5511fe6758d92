//! How far a piece of work is, and whether it is to go on.

use std::time::Duration;

use lasthop_linux::memory;
use lasthop_scenario::{Stop, Stopped};

/// Hears how far work is, and may cancel it. Shared by the threads that do it.
pub trait Progress: Sync {
    /// So many runs are to be done in addition.
    fn expect(&self, _runs: u64) {}

    /// One more is done.
    fn advance(&self) {}

    /// A run has come to this simulated time. Called after about 20 ms of its work.
    fn reach(&self, _simulated: Duration) {}

    /// Whether the result is no longer wanted: the work then ends with [`crate::run::RunError::Cancelled`]. Each
    /// thread asks again after about 20 ms of work.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Tells nobody, and cancels nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// What a run asks again and again: whether its result is wanted, and whether the process has the
/// memory for it.
pub(crate) fn watch(progress: &dyn Progress) -> impl Fn(Duration) -> Result<(), Stop> {
    |simulated| {
        progress.reach(simulated);
        if progress.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        memory::exceeded().map_or(Ok(()), |limit| Err(Stop::Memory { limit }))
    }
}

/// An error if the work is cancelled.
pub(crate) fn go_on(progress: &dyn Progress) -> Result<(), Stopped> {
    if progress.is_cancelled() { Err(Stopped::Cancelled) } else { Ok(()) }
}
