//! A run piece by piece: in between it looks at the process's memory and reports its progress.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{Built, Scenario, SchemeChoice};

use crate::memory::{self, MemoryExceeded};

/// Events between two looks at the process's memory: about 20 ms of work.
const EVENTS: u64 = 65_536;

/// What is run, and who wants to know how far it is.
pub(crate) struct Pieces<'a> {
    pub(crate) scenario: &'a Scenario,
    scheme: &'a SchemeChoice,
    seed: u64,
    /// Called with the simulated time.
    progress: &'a dyn Fn(Duration),
    /// Events until the next look.
    left: u64,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        scheme: &'a SchemeChoice,
        seed: u64,
        progress: &'a dyn Fn(Duration),
    ) -> Self {
        Self { scenario, scheme, seed, progress, left: EVENTS }
    }

    /// Runs a world to `until`, or until all is done that ends where the scenario stops then.
    pub(crate) fn advance(&mut self, built: &mut Built, until: Instant) -> Result<(), MemoryExceeded> {
        loop {
            let before = built.world.events();
            let is_there = built.world.run_events(until, self.scenario.stop_when_done, self.left);
            self.left = self.left.saturating_sub(built.world.events() - before);
            if self.left == 0 {
                self.left = EVENTS;
                (self.progress)(built.world.now().since(Instant::ZERO));
                if memory::is_exceeded() {
                    return Err(MemoryExceeded::of(self.scenario, &self.scheme.label, self.seed, built));
                }
            }
            if is_there {
                return Ok(());
            }
        }
    }
}
