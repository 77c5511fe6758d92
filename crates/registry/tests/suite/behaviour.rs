//! What every back end does, seen through the trait. The back ends differ in who judges leases, so nothing here waits
//! for one to end.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_peering::Fingerprint;
use lasthop_registry::{AccessPoint, Change, Client, Error, LeaseId, Refusal, Registry};

/// Not used by back ends that judge leases by another clock.
pub const NOW: Instant = Instant::ZERO;

/// Longer than anything takes that is expected to happen.
pub const LONG: Duration = Duration::from_secs(60);

/// All rules, on a registry that nobody else uses. `name` is the access point's.
pub fn all(registry: &dyn Registry, name: &str) {
    claims_raise_the_epoch_and_stale_ones_are_refused(registry, name);
    a_client_that_is_released_is_nowhere(registry, name);
    a_watch_continues_a_snapshot(registry, name);
    the_clients_of_an_access_point_that_leaves_are_free(registry, name);
    a_snapshot_of_many_clients_is_whole(registry, name);
    of_claims_at_once_one_wins_each_epoch(registry, name);
}

pub fn client(number: u32) -> Client {
    Client::new(&[&[2, 0][..], &number.to_be_bytes()].concat()).expect("a key")
}

pub fn join(registry: &dyn Registry, name: &str) -> LeaseId {
    let access_point = AccessPoint::new(name, (Ipv4Addr::LOCALHOST, 4433).into());
    let access_point = access_point.with_key(Fingerprint::new([7; 32]));
    registry.join(&access_point, LONG, NOW).expect("there is room")
}

fn claims_raise_the_epoch_and_stale_ones_are_refused(registry: &dyn Registry, name: &str) {
    let lease = join(registry, name);
    let client = client(1);
    assert_eq!(registry.get(&client, NOW).expect("it works"), None);
    let first = registry.claim(&client, lease, None, NOW).expect("it is nowhere");
    let second = registry.claim(&client, lease, Some(first), NOW).expect("the epoch is right");
    assert!(second > first);
    let entry = registry.get(&client, NOW).expect("it works").expect("it was claimed");
    assert_eq!((entry.access_point.name(), entry.lease, entry.epoch), (name, lease, second));
    assert_eq!(entry.access_point.address(), (Ipv4Addr::LOCALHOST, 4433).into());
    assert!(entry.access_point.key().is_some());
    for stale in [None, Some(first), Some(second + 1)] {
        let refused = registry.claim(&client, lease, stale, NOW);
        assert!(
            matches!(&refused, Err(Error::Refused(Refusal::Stale(Some(there)))) if *there == entry),
            "{refused:?}"
        );
    }
    let refused = registry.release(&client, first, NOW);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Stale(Some(_))))), "{refused:?}");
    let listed = registry.access_points(NOW).expect("it works");
    assert_eq!(listed, [(lease, entry.access_point)]);
    registry.renew(lease, NOW).expect("it has not ended");
    registry.leave(lease, NOW).expect("it has not ended");
}

fn a_client_that_is_released_is_nowhere(registry: &dyn Registry, name: &str) {
    let lease = join(registry, name);
    let client = client(1);
    let epoch = registry.claim(&client, lease, None, NOW).expect("it is nowhere");
    registry.release(&client, epoch, NOW).expect("the epoch is right");
    assert_eq!(registry.get(&client, NOW).expect("it works"), None);
    let refused = registry.release(&client, epoch, NOW);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Stale(None)))), "{refused:?}");
    let again = registry.claim(&client, lease, None, NOW).expect("it is nowhere");
    assert!(again > epoch, "an epoch was used twice");
    registry.leave(lease, NOW).expect("it has not ended");
}

fn a_watch_continues_a_snapshot(registry: &dyn Registry, name: &str) {
    let lease = join(registry, name);
    let before = registry.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    let snapshot = registry.snapshot(NOW).expect("it works");
    assert_eq!(
        snapshot.entries.iter().map(|(client, at)| (*client, at.epoch)).collect::<Vec<_>>(),
        [(client(1), before)]
    );
    let mut watch = registry.watch(snapshot.revision).expect("it is kept");
    assert_eq!(watch.next(Duration::from_millis(50)).expect("it works"), []);
    let claimed = registry.claim(&client(2), lease, None, NOW).expect("it is nowhere");
    registry.release(&client(1), before, NOW).expect("the epoch is right");
    registry.leave(lease, NOW).expect("it has not ended");
    let mut seen: Vec<Change> = Vec::new();
    while seen.len() < 3 {
        let changes = watch.next(LONG).expect("it works");
        assert!(!changes.is_empty(), "there are {} changes only", seen.len());
        seen.extend(changes);
    }
    let summary: Vec<_> = seen.iter().map(|change| (change.client, change.entry.is_some())).collect();
    assert_eq!(summary, [(client(2), true), (client(1), false), (client(2), false)]);
    assert_eq!(seen[0].revision, claimed);
    assert_eq!(seen[0].entry.as_ref().map(|entry| (entry.lease, entry.epoch)), Some((lease, claimed)));
    assert!(seen.is_sorted_by(|a, b| a.revision < b.revision));
    let future = registry.snapshot(NOW).expect("it works").revision;
    assert!(future >= seen[2].revision);
}

fn the_clients_of_an_access_point_that_leaves_are_free(registry: &dyn Registry, name: &str) {
    let lease = join(registry, name);
    registry.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    registry.leave(lease, NOW).expect("it has not ended");
    assert_eq!(registry.get(&client(1), NOW).expect("it works"), None);
    assert_eq!(registry.access_points(NOW).expect("it works"), []);
    for refused in [
        registry.renew(lease, NOW),
        registry.leave(lease, NOW),
        registry.claim(&client(1), lease, None, NOW).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Refused(Refusal::Expired))), "{refused:?}");
    }
}

fn a_snapshot_of_many_clients_is_whole(registry: &dyn Registry, name: &str) {
    let lease = join(registry, name);
    let clients: Vec<Client> = (0..600).map(client).collect();
    for client in &clients {
        registry.claim(client, lease, None, NOW).expect("it is nowhere");
    }
    let snapshot = registry.snapshot(NOW).expect("it works");
    assert!(snapshot.entries.iter().map(|(client, _)| *client).eq(clients.iter().copied()));
    let mut watch = registry.watch(snapshot.revision).expect("it is kept");
    registry.leave(lease, NOW).expect("it has not ended");
    let mut gone = Vec::new();
    while gone.len() < clients.len() {
        let changes = watch.next(LONG).expect("it works");
        assert!(!changes.is_empty(), "there are {} changes only", gone.len());
        gone.extend(changes);
    }
    assert!(gone.iter().all(|change| change.entry.is_none() && change.revision == gone[0].revision));
    assert_eq!(gone.iter().map(|change| change.client).collect::<BTreeSet<_>>().len(), clients.len());
}

fn of_claims_at_once_one_wins_each_epoch(registry: &dyn Registry, name: &str) {
    const CLAIMS: usize = 25;
    let leases = [join(registry, name), join(registry, name)];
    let claim_often = |lease| {
        let (mut expected, mut won) = (None, Vec::new());
        while won.len() < CLAIMS {
            match registry.claim(&client(1), lease, expected, NOW) {
                Ok(epoch) => {
                    won.push((expected, epoch));
                    expected = Some(epoch);
                }
                Err(Error::Refused(Refusal::Stale(there))) => expected = there.map(|entry| entry.epoch),
                Err(error) => panic!("{error:?}"),
            }
        }
        won
    };
    let won: Vec<(Option<u64>, u64)> = thread::scope(|scope| {
        let callers =
            [leases[0], leases[1], leases[0], leases[1]].map(|lease| scope.spawn(move || claim_often(lease)));
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect()
    });
    let taken: BTreeSet<_> = won.iter().map(|(expected, _)| *expected).collect();
    assert_eq!(taken.len(), won.len(), "two took the same epoch");
    // Each claim continues another one: together they are one sequence.
    let epochs: BTreeSet<_> = won.iter().map(|(_, epoch)| Some(*epoch)).collect();
    assert_eq!(taken.difference(&epochs).collect::<Vec<_>>(), [&None]);
    for lease in leases {
        registry.leave(lease, NOW).expect("it has not ended");
    }
}
