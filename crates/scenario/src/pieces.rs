//! A run piece by piece: in between it looks at the process's memory and reports its progress.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::build::Built;
use crate::memory::{self, MemoryExceeded};
use crate::model::{Scenario, SchemeChoice};

/// Events between two looks at the process's memory: about 20 ms of work.
const EVENTS: u64 = 65_536;

/// What is run, and who wants to know how far it is.
pub struct Pieces<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    scheme: &'a SchemeChoice,
    seed: u64,
    /// Called with the simulated time.
    progress: &'a dyn Fn(Duration),
    /// Events until the next look.
    left: u64,
}

impl<'a> Pieces<'a> {
    /// Begins a run of what was built from this scenario, scheme and seed. An error means that already
    /// building it exceeded the process's memory limit. `progress` is called again and again with the
    /// simulated time.
    pub fn begin(
        scenario: &'a Scenario,
        scheme: &'a SchemeChoice,
        seed: u64,
        built: &mut Built,
        progress: &'a dyn Fn(Duration),
    ) -> Result<Self, MemoryExceeded> {
        let run = Self { scenario, scheme, seed, progress, left: EVENTS };
        run.look(built)?;
        Ok(run)
    }

    /// Runs a world to `until`; with `stop_when_done`, until all is done that ends, if that is earlier.
    /// An error means that the process exceeded its memory limit meanwhile.
    pub fn advance(
        &mut self,
        built: &mut Built,
        until: Instant,
        stop_when_done: bool,
    ) -> Result<(), MemoryExceeded> {
        loop {
            let before = built.world.events();
            let is_there = built.world.run_events(until, stop_when_done, self.left);
            self.left = self.left.saturating_sub(built.world.events() - before);
            if self.left == 0 {
                self.left = EVENTS;
                (self.progress)(built.world.now().since(Instant::ZERO));
                self.look(built)?;
            }
            if is_there {
                return Ok(());
            }
        }
    }

    fn look(&self, built: &mut Built) -> Result<(), MemoryExceeded> {
        if memory::is_exceeded() {
            return Err(MemoryExceeded::of(self.scenario, &self.scheme.label, self.seed, built));
        }
        Ok(())
    }
}
