//! The progress of work, and its cancellation.

use std::time::Duration;

use lasthop_linux::memory;
use lasthop_scenario::{Stop, Stopped};

/// Receives reports of the progress of work, and may cancel it. Shared by the threads that do the
/// work.
pub trait Progress: Sync {
    /// Adds `runs` to the number of expected runs.
    fn expect(&self, _runs: u64) {}

    /// Called when a run is complete.
    fn advance(&self) {}

    /// Called with the simulated time of a run after about every 20 ms of its work.
    fn reach(&self, _simulated: Duration) {}

    /// Whether the work is canceled; it then ends with [`crate::run::RunError::Canceled`]. Each
    /// thread calls this after about every 20 ms of work.
    fn is_canceled(&self) -> bool {
        false
    }
}

/// Discards the reports, and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// The [`lasthop_scenario::Watch`] of a run: reports its progress, and ends it if it is canceled or
/// if the process exceeds its memory limit.
pub(crate) fn watch(progress: &dyn Progress) -> impl Fn(Duration) -> Result<(), Stop> {
    |simulated| {
        progress.reach(simulated);
        if progress.is_canceled() {
            return Err(Stop::Canceled);
        }
        memory::exceeded().map_or(Ok(()), |limit| Err(Stop::Memory { limit }))
    }
}

/// An error if the work is canceled.
pub(crate) fn check(progress: &dyn Progress) -> Result<(), Stopped> {
    if progress.is_canceled() { Err(Stopped::Canceled) } else { Ok(()) }
}
