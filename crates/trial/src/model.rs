//! The part of a run that the model between the hosts has.

use std::time::Duration;

use lasthop_agent::Tally;
use lasthop_emulator::Summary;
use lasthop_sim::World;

use super::roaming::{HandOff, Ways};
use super::stations::{self, NamedStation, StationUse};

/// A flow that delivers nothing for so long does not work.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a model has to report.
pub(super) struct ModelResults {
    /// The summary of the emulator.
    pub(super) summary: Summary,
    pub(super) stations: Vec<StationUse>,
    /// The counters that agents in the model reported.
    pub(super) reported: Tally,
    /// The flows between simulated nodes that delivered nothing.
    pub(super) silent: Vec<String>,
    /// The hand-offs of clients; `None` if they do not roam in the model.
    pub(super) hand_offs: Option<Vec<HandOff>>,
}

/// What a world shows of a run.
pub(super) struct Observed {
    pub(super) stations: Vec<StationUse>,
    pub(super) reported: Tally,
    pub(super) silent: Vec<String>,
    pub(super) ways: Ways,
}

impl Observed {
    /// What the world shows now, of these stations.
    pub(super) fn of(world: &World, stations: Vec<NamedStation>) -> Self {
        Self {
            stations: stations::used(world, stations),
            reported: world.reported().clone(),
            silent: silent(world),
            ways: Ways::of(world),
        }
    }
}

/// The flows that have had time to deliver something, and have not.
fn silent(world: &World) -> Vec<String> {
    let outcomes = world.flows().map(|flow| world.outcome(flow));
    let silent = outcomes.filter(|outcome| {
        outcome.octets == 0 && outcome.measured.until.since(outcome.measured.from) > PATIENCE
    });
    silent.map(|outcome| outcome.name).collect()
}
