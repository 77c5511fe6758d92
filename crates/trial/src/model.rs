//! The part of a run that the model between the hosts has.

use lasthop_agent::Tally;
use lasthop_emulator::Summary;
use lasthop_sim::World;

use super::roaming::{HandOff, Ways};
use super::stations::{self, NamedStation, StationUse};

/// What a model has to report.
pub(super) struct ModelResults {
    /// The summary of the emulator.
    pub(super) summary: Summary,
    pub(super) stations: Vec<StationUse>,
    /// The counters that agents in the model reported.
    pub(super) reported: Tally,
    /// The hand-offs of clients; `None` if they do not roam in the model.
    pub(super) hand_offs: Option<Vec<HandOff>>,
}

/// What a world shows of a run.
pub(super) struct Observed {
    pub(super) stations: Vec<StationUse>,
    pub(super) reported: Tally,
    pub(super) ways: Ways,
}

impl Observed {
    /// What the world shows now, of these stations.
    pub(super) fn of(world: &World, stations: Vec<NamedStation>) -> Self {
        Self {
            stations: stations::used(world, stations),
            reported: world.reported().clone(),
            ways: Ways::of(world),
        }
    }
}
