//! The machine stops at each operation of the disk in random histories. Afterwards, every
//! acknowledged change is there, and nothing else but what the interrupted call had begun.

use lasthop_packet::{Instant, Rng};
use lasthop_registry::{Durability, Embedded, Error, LeaseId, OpenError, Snapshot, State};

use crate::simulated_disk::{Lie, SimulatedDisk, Stop};
use crate::steps::{Call, Callers, Step, limits, on_registry, on_state};

/// The steps of a history.
const STEPS: usize = 80;

#[test]
fn no_acknowledged_change_is_lost_where_power_is_lost() {
    let kills = kill_everywhere(Durability::PowerLoss, Stop::Power, None, 6_000).expect("nothing is lost");
    assert!(kills >= 6_000, "{kills} kills");
}

#[test]
fn no_acknowledged_change_is_lost_where_the_process_ends() {
    for durability in [Durability::PowerLoss, Durability::ProcessEnd] {
        let kills = kill_everywhere(durability, Stop::Process, None, 3_000).expect("nothing is lost");
        assert!(kills >= 3_000, "{kills} kills");
    }
}

#[test]
fn a_disk_that_does_not_synchronize_is_found_out() {
    for lie in [Lie::File, Lie::Successor, Lie::Folder] {
        let found = kill_everywhere(Durability::PowerLoss, Stop::Power, Some(lie), 6_000);
        assert!(found.is_err(), "{lie:?}: nothing was lost");
    }
}

/// Histories until there were this number of kills: one for each operation of each history, and
/// more at random ones afterwards. Returns their number.
fn kill_everywhere(
    durability: Durability,
    stop: Stop,
    lie: Option<Lie>,
    at_least: u64,
) -> Result<u64, String> {
    let mut kills = 0;
    for seed in 0.. {
        let mut rng = Rng::named(seed, "history");
        let steps: Vec<Step> = (0..STEPS).map(|_| Step::draw(&mut rng)).collect();
        for first in 0.. {
            let disk = SimulatedDisk::new(seed + (first << 32), lie);
            let mut run = Run::new(disk, durability, stop, seed + (first << 32));
            let of_run = run.through(&steps, first).map_err(|lost| format!("{seed}, {first}: {lost}"))?;
            kills += of_run;
            if of_run == 0 {
                break;
            }
        }
        if kills >= at_least {
            break;
        }
    }
    Ok(kills)
}

/// One history on one disk.
struct Run {
    disk: SimulatedDisk,
    durability: Durability,
    stop: Stop,
    /// What was acknowledged.
    state: State,
    callers: Callers,
    rng: Rng,
    kills: u64,
}

impl Run {
    fn new(disk: SimulatedDisk, durability: Durability, stop: Stop, seed: u64) -> Self {
        let (state, callers) = (State::new(limits()), Callers::default());
        Self { disk, durability, stop, state, callers, rng: Rng::named(seed, "run"), kills: 0 }
    }

    /// Kills at the operation `first`, and then at random ones. Returns the number of kills.
    fn through(&mut self, steps: &[Step], first: u64) -> Result<u64, String> {
        self.disk.stop_after(first);
        let mut registry = self.start(vec![self.state.clone()])?;
        for step in steps {
            let call = self.callers.call(*step, &self.state);
            // The state after each event of the call.
            let mut possible = vec![self.state.clone()];
            let expected =
                on_state(&mut self.state, &call, self.callers.now, |state| possible.push(state.clone()));
            match on_registry(&registry, &call, self.callers.now) {
                Ok(result) if expected == Ok(result) => {
                    if matches!(call, Call::Command(lasthop_registry::state::Command::Join { .. })) {
                        self.callers.leases.push(LeaseId::new(result));
                    }
                }
                Err(Error::Refused(refusal)) if expected == Err(refusal.clone()) => {}
                Err(Error::Failed(_)) if self.disk.has_stopped() => {
                    drop(registry);
                    registry = self.start(possible)?;
                }
                other => return Err(format!("{call:?}: {other:?} instead of {expected:?}")),
            }
            same(&registry, &self.state, self.callers.now)?;
        }
        Ok(self.kills)
    }

    /// Opens the registry, and kills it while it opens, perhaps several times. It has one of the
    /// possible states.
    fn start(&mut self, mut possible: Vec<State>) -> Result<Embedded, String> {
        loop {
            if self.disk.has_stopped() {
                self.kills += 1;
                self.disk.restart(self.stop);
                self.disk.stop_after(self.rng.below(60));
            }
            let now = self.callers.now;
            match Embedded::on(self.disk.clone(), limits(), self.durability, now) {
                Err(OpenError::Io(_)) if self.disk.has_stopped() => {}
                Err(error) => return Err(error.to_string()),
                Ok(registry) => {
                    let found = snapshot(&registry, now)?;
                    let last = possible.last().map(State::snapshot);
                    possible.retain(|state| state.snapshot() == found);
                    let Some(state) = possible.pop() else {
                        return Err(format!("{found:?} instead of {last:?}"));
                    };
                    // All leases begin anew.
                    let restored = State::from_records(limits(), state.revision(), state.records(), now);
                    self.state = restored.expect("it was possible");
                    return Ok(registry);
                }
            }
        }
    }
}

fn same(registry: &Embedded, state: &State, now: Instant) -> Result<(), String> {
    let (found, expected) = (snapshot(registry, now)?, state.snapshot());
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

fn snapshot(registry: &Embedded, now: Instant) -> Result<Snapshot, String> {
    lasthop_registry::Registry::snapshot(registry, now).map_err(|error| error.to_string())
}
