//! A run piece by piece: in between, it reports its progress and can be ended.

use std::time::Duration;

use lasthop_packet::Instant;
use thiserror::Error;

use crate::build::Built;
use crate::memory::MemoryExceeded;
use crate::model::{Scenario, SchemeChoice};

/// Events between two calls of [`Watch`]: about 20 ms of work.
const EVENTS: u64 = 65_536;

/// Called with the simulated time again and again, after about 20 ms of work each. An error ends the
/// run.
pub type Watch<'a> = dyn Fn(Duration) -> Result<(), Stop> + 'a;

/// Why a [`Watch`] ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run is canceled.
    Canceled,
    /// The process takes more memory than it may.
    Memory {
        /// What it may take, in octets.
        limit: u64,
    },
}

/// Why a run ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Stopped {
    /// It was canceled.
    #[error("canceled")]
    Canceled,
    /// It took too much memory.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
}

/// A run under way.
pub struct Pieces<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    scheme: &'a SchemeChoice,
    seed: u64,
    watch: &'a Watch<'a>,
    /// Events until its next call.
    left: u64,
}

impl<'a> Pieces<'a> {
    /// Begins a run of what was built from this scenario, scheme and seed. Calls `watch` for the first
    /// time: building it may already have taken too much memory.
    pub fn begin(
        scenario: &'a Scenario,
        scheme: &'a SchemeChoice,
        seed: u64,
        built: &mut Built,
        watch: &'a Watch<'a>,
    ) -> Result<Self, Stopped> {
        let run = Self { scenario, scheme, seed, watch, left: EVENTS };
        run.ask(built)?;
        Ok(run)
    }

    /// Runs a world to `until`; with `stop_when_done`, until all is done that ends, if that is earlier.
    pub fn advance(
        &mut self,
        built: &mut Built,
        until: Instant,
        stop_when_done: bool,
    ) -> Result<(), Stopped> {
        loop {
            let before = built.world.events();
            let is_there = built.world.run_events(until, stop_when_done, self.left);
            self.left = self.left.saturating_sub(built.world.events() - before);
            if self.left == 0 {
                self.left = EVENTS;
                self.ask(built)?;
            }
            if is_there {
                return Ok(());
            }
        }
    }

    /// Asks whether to go on.
    fn ask(&self, built: &mut Built) -> Result<(), Stopped> {
        (self.watch)(built.world.now().since(Instant::ZERO)).map_err(|stop| match stop {
            Stop::Canceled => Stopped::Canceled,
            Stop::Memory { limit } => {
                MemoryExceeded::of(self.scenario, &self.scheme.label, self.seed, built, limit).into()
            }
        })
    }
}
