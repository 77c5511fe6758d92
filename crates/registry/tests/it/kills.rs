//! The machine stops at each operation of the disk in random histories. Afterwards, every
//! acknowledged change is there, and nothing else but what the interrupted call had begun.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_registry::{Durability, Embedded, Error, LeaseId, OpenError, Registry as _, Snapshot, State};

use crate::simulated_disk::{Lie, SimulatedDisk, Stop};
use crate::steps::{Call, Callers, Step, access_point, client, limits, on_registry, on_state};

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

#[test]
fn no_acknowledged_claim_is_lost_where_several_share_a_synchronization() {
    const CALLERS: u8 = 4;
    // The fewest operations of the disk: two for each round, where all share them.
    const ROUNDS: u64 = 25;
    let (now, mut acknowledged_in_all) = (Instant::ZERO, 0);
    for seed in 0..300 {
        let disk = SimulatedDisk::new(seed, None);
        let open = || Embedded::on(disk.clone(), limits(), Durability::PowerLoss, now);
        let registry = open().expect("a new file");
        let lease = registry.join(&access_point(1), Duration::from_secs(60), now).expect("there is room");
        disk.stop_after(seed % 40);
        let barrier = Barrier::new(usize::from(CALLERS));
        let claim_until_it_stops = |number: u8| {
            let (mut acknowledged, mut works) = (None, true);
            for _ in 0..ROUNDS {
                barrier.wait();
                if works {
                    match registry.claim(&client(number), lease, acknowledged, now) {
                        Ok(epoch) => acknowledged = Some(epoch),
                        Err(_) => works = false,
                    }
                }
            }
            (number, acknowledged)
        };
        let acknowledged: Vec<(u8, Option<u64>)> = thread::scope(|scope| {
            let claim_until_it_stops = &claim_until_it_stops;
            let callers = (0..CALLERS).map(|number| scope.spawn(move || claim_until_it_stops(number)));
            let callers: Vec<_> = callers.collect();
            callers.into_iter().map(|caller| caller.join().expect("no panic")).collect()
        });
        assert!(disk.has_stopped());
        drop(registry);
        disk.restart(Stop::Power);
        let registry = open().expect("the file is whole");
        for (number, acknowledged) in acknowledged {
            let there = registry.get(&client(number), now).expect("it works").map(|entry| entry.epoch);
            assert!(there >= acknowledged, "{seed}: {there:?} after {acknowledged:?}");
            acknowledged_in_all += u64::from(acknowledged.is_some());
        }
    }
    assert!(acknowledged_in_all > 500, "{acknowledged_in_all}");
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
    registry.snapshot(now).map_err(|error| error.to_string())
}
