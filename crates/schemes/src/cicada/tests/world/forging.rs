//! Forged packets among the genuine ones.

use lasthop_agent::Side;
use proptest::prelude::*;

use super::super::forgeries;
use super::World;

impl World {
    /// A forged packet arrives at an agent; if there is none, at the end that it is meant for.
    pub(super) fn forge(&mut self) -> Result<(), TestCaseError> {
        let sender = self.rng.below(2) as usize;
        let (from, node) = match (sender, self.seats.len()) {
            (0, 0) => (Side::Core, 1),
            (1, 0) => (Side::Radio, 0),
            (0, agents) => (Side::Core, 1 + self.rng.below(agents as u64) as usize),
            (_, agents) => (Side::Radio, 1 + self.rng.below(agents as u64) as usize),
        };
        let forged = forgeries::draw(&self.ends[sender], &self.ends[1 - sender], from, &mut self.rng);
        self.trail.push_back((self.now, 9, from.opposite(), forged.clone()));
        let received = self.ends[sender].connection.next_expected();
        for seat in &mut self.seats {
            seat.is_watched = false;
            seat.watch.on_forged(from, received);
        }
        self.arrive(forged, node, from)?;
        // Among several agents, a packet that one passes is forged for the next one, too.
        let is_only = self.seats.len() == 1;
        for seat in &mut self.seats {
            seat.is_watched = is_only;
        }
        Ok(())
    }
}
