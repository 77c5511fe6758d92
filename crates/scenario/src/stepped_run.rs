//! A run in steps, between which it reports its progress and can be ended.

use std::time::Duration;

use lasthop_packet::Instant;
use thiserror::Error;

use crate::build::Built;
use crate::memory::MemoryExceeded;
use crate::model::{Scenario, SchemeChoice};

/// Events between two calls of [`Watch`]: about 20 ms of work.
const EVENTS: u64 = 65_536;

/// Called with the simulated time after each 20 ms of work or so. An error ends the run.
pub type Watch<'a> = dyn Fn(Duration) -> Result<(), Stop> + 'a;

/// Why a [`Watch`] ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run is canceled.
    Canceled,
    /// The process exceeded its memory limit.
    Memory {
        /// The limit, in octets.
        limit: u64,
    },
}

/// Why a run was stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Stopped {
    /// It was canceled.
    #[error("canceled")]
    Canceled,
    /// The process exceeded its memory limit.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
}

/// A run in progress.
pub struct SteppedRun<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    scheme: &'a SchemeChoice,
    seed: u64,
    watch: &'a Watch<'a>,
    /// Events until the next call of `watch`.
    left: u64,
}

impl<'a> SteppedRun<'a> {
    /// Begins a run of the world that was built from this scenario, scheme and seed. Calls `watch`
    /// once, because building may already have taken too much memory.
    pub fn begin(
        scenario: &'a Scenario,
        scheme: &'a SchemeChoice,
        seed: u64,
        built: &mut Built,
        watch: &'a Watch<'a>,
    ) -> Result<Self, Stopped> {
        let run = Self { scenario, scheme, seed, watch, left: EVENTS };
        run.call_watch(built)?;
        Ok(run)
    }

    /// Runs a world until `until`; with `stop_when_done`, at most until every flow and session that
    /// has an end is done.
    pub fn advance(
        &mut self,
        built: &mut Built,
        until: Instant,
        stop_when_done: bool,
    ) -> Result<(), Stopped> {
        loop {
            let before = built.world.events();
            let is_done = built.world.run_events(until, stop_when_done, self.left);
            self.left = self.left.saturating_sub(built.world.events() - before);
            if self.left == 0 {
                self.left = EVENTS;
                self.call_watch(built)?;
            }
            if is_done {
                return Ok(());
            }
        }
    }

    fn call_watch(&self, built: &mut Built) -> Result<(), Stopped> {
        (self.watch)(built.world.now().since(Instant::ZERO)).map_err(|stop| match stop {
            Stop::Canceled => Stopped::Canceled,
            Stop::Memory { limit } => {
                MemoryExceeded::new(self.scenario, &self.scheme.label, self.seed, built, limit).into()
            }
        })
    }
}
