//! The part of a run that the model between the hosts has.

use lasthop_agent::Tally;
use lasthop_emulator::Summary;
use lasthop_scenario::{BuiltLinks, Scenario};
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
    /// The hand-offs of clients; `None` if they do not roam.
    pub(super) hand_offs: Option<Vec<HandOff>>,
}

/// What a world shows at the end of a run.
pub(super) struct Seen {
    pub(super) stations: Vec<StationUse>,
    pub(super) reported: Tally,
    pub(super) ways: Ways,
}

/// What will be looked at in a world.
pub(super) struct Looks(Vec<NamedStation>);

impl Looks {
    pub(super) fn new(scenario: &Scenario, built: &BuiltLinks) -> Self {
        Self(stations::list(scenario, &built.wlans))
    }

    /// What the world shows now.
    pub(super) fn at(self, world: &World) -> Seen {
        Seen {
            stations: stations::used(world, self.0),
            reported: world.reported().clone(),
            ways: Ways::of(world),
        }
    }
}
