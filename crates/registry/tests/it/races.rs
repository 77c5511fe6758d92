//! Several access points at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{Durability, Embedded, Error, Limits, Refusal, Registry};

use crate::simulated_disk::SimulatedDisk;
use crate::steps::{access_point, client};

const ACCESS_POINTS: u8 = 8;
const CLAIMS: u64 = 2_000;

#[test]
fn of_access_points_that_claim_a_client_at_once_one_wins_each_epoch() {
    let limits = Limits { backlog: 1 << 16, ..Limits::default() };
    let disk = SimulatedDisk::new(0, None);
    let registry = Embedded::on(disk, limits, Durability::PowerLoss, Instant::ZERO).expect("a new file");
    let registry = Arc::new(registry);
    let mut watch = registry.watch(0).expect("it is kept");
    let watcher = thread::spawn(move || {
        let mut seen = Vec::new();
        loop {
            for change in watch.next(Duration::from_secs(10)).expect("it keeps up") {
                let Some(entry) = change.entry else { return seen };
                seen.push((change.revision, entry.lease));
            }
        }
    });
    let claimants = (0..ACCESS_POINTS).map(|number| {
        let registry = Arc::clone(&registry);
        thread::spawn(move || claim_until_done(&registry, number))
    });
    let claimants: Vec<_> = claimants.collect();
    let won = claimants.into_iter().flat_map(|thread| thread.join().expect("no panic"));
    let mut taken = BTreeSet::new();
    let mut winners = BTreeMap::new();
    for (expected, epoch, lease) in won {
        assert!(taken.insert(expected), "two took epoch {expected:?}");
        winners.insert(epoch, lease);
    }
    assert!(winners.len() as u64 >= CLAIMS);
    let (last, _) = winners.last_key_value().expect("there were claims");
    registry.release(&client(1), *last, Instant::ZERO).expect("nobody claims it any more");
    let seen = watcher.join().expect("no panic");
    assert!(seen.into_iter().eq(winners));
}

/// Claims until the client has been claimed often enough. Returns the claims that succeeded.
fn claim_until_done(registry: &Embedded, number: u8) -> Vec<(Option<u64>, u64, lasthop_registry::LeaseId)> {
    let now = Instant::ZERO;
    let lease = registry.join(&access_point(number), Duration::from_secs(60), now).expect("there is room");
    let (mut expected, mut won) = (None, Vec::new());
    while registry.snapshot(now).expect("it works").revision < CLAIMS + u64::from(ACCESS_POINTS) {
        match registry.claim(&client(1), lease, expected, now) {
            Ok(epoch) => {
                won.push((expected, epoch, lease));
                expected = Some(epoch);
            }
            Err(Error::Refused(Refusal::Stale(current))) => expected = current.map(|entry| entry.epoch),
            Err(error) => panic!("{error}"),
        }
    }
    won
}

#[test]
fn a_change_wakes_a_watch() {
    let disk = SimulatedDisk::new(0, None);
    let registry = Embedded::on(disk, Limits::default(), Durability::PowerLoss, Instant::ZERO);
    let registry = registry.expect("a new file");
    let lease =
        registry.join(&access_point(1), Duration::from_secs(60), Instant::ZERO).expect("there is room");
    let mut watch = registry.watch(1).expect("it is kept");
    let (seen, changes) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(changes) = watch.next(Duration::from_secs(3_600)) {
            for change in changes {
                seen.send(change.revision).expect("the test waits for it");
            }
        }
    });
    let mut epoch = None;
    for _ in 0..100 {
        epoch = Some(registry.claim(&client(1), lease, epoch, Instant::ZERO).expect("the epoch is right"));
        assert_eq!(changes.recv_timeout(Duration::from_secs(30)).ok(), epoch);
    }
}
