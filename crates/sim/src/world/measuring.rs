//! From when on a world measures.

use super::World;
use crate::warm_up::WarmUp;

impl World {
    /// From now on, outcomes of flows and sessions and the use of radios count what happens after this
    /// moment. Completion times still count from the start of a flow. Counters and
    /// [`World::accounts`] count everything.
    pub fn start_measuring(&mut self) {
        let now = self.now();
        self.warm_up = WarmUp {
            end: now,
            flows: self.hosts.so_far(),
            sessions: self.sessions.so_far(),
            radios: self.links.cells.radio_uses(now),
        };
    }
}
