//! The rules of the state, compared with a model that is as simple as they can be said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_registry::state::Command;
use lasthop_registry::{Change, Client, Entry, Refusal, State};
use proptest::prelude::*;

use crate::steps::{Call, Callers, Step, access_point, client, limits, on_state};

/// What the registry should be.
#[derive(Default)]
struct Model {
    revision: u64,
    /// Name, duration, end, by number.
    leases: BTreeMap<u64, (String, Duration, Instant)>,
    /// Lease, epoch.
    clients: BTreeMap<Client, (u64, u64)>,
}

impl Model {
    fn end(&mut self, lease: u64) {
        self.revision += 1;
        self.leases.remove(&lease);
        self.clients.retain(|_, place| place.0 != lease);
    }

    /// None: refused.
    fn call(&mut self, call: &Call, now: Instant) -> Option<u64> {
        let ends = |model: &Self| {
            let over = model.leases.iter().filter(|(_, lease)| lease.2 <= now);
            over.map(|(number, lease)| (lease.2, *number)).min()
        };
        while let Some((_, lease)) = ends(self) {
            self.end(lease);
        }
        let command = match call {
            Call::Nothing => return Some(0),
            Call::Renew(lease) => {
                let lease = self.leases.get_mut(&lease.number())?;
                lease.2 = lease.2.max(now + lease.1);
                return Some(0);
            }
            Call::Command(command) => command,
        };
        match command {
            Command::Join { access_point, duration } => {
                let fits = self.leases.len() < limits().access_points as usize;
                let revision = fits.then_some(self.revision + 1)?;
                let lease = (access_point.name().to_owned(), *duration, now + *duration);
                self.leases.insert(revision, lease);
                self.revision = revision;
                Some(revision)
            }
            Command::Leave(lease) => {
                self.leases.get(&lease.number())?;
                self.end(lease.number());
                Some(0)
            }
            Command::Claim { client, lease, expected } => {
                let epoch = self.clients.get(client).map(|place| place.1);
                let fits = epoch.is_some() || self.clients.len() < limits().clients as usize;
                let is_possible = epoch == *expected && self.leases.contains_key(&lease.number()) && fits;
                let revision = is_possible.then_some(self.revision + 1)?;
                self.clients.insert(*client, (lease.number(), revision));
                self.revision = revision;
                Some(revision)
            }
            Command::Release { client, epoch } => {
                self.clients.get(client).filter(|place| place.1 == *epoch)?;
                self.clients.remove(client);
                self.revision += 1;
                Some(0)
            }
        }
    }

    fn entries(&self) -> Vec<(Client, String, u64, u64)> {
        let entries = self.clients.iter();
        entries
            .map(|(client, (lease, epoch))| (*client, self.leases[lease].0.clone(), *lease, *epoch))
            .collect()
    }
}

fn entries(state: &State) -> Vec<(Client, String, u64, u64)> {
    let entries = state.snapshot().entries.into_iter();
    entries
        .map(|(client, at)| (client, at.access_point.name().to_owned(), at.lease.number(), at.epoch))
        .collect()
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    (any::<u64>(), 1..150usize).prop_map(|(seed, count)| {
        let mut rng = Rng::named(seed, "steps");
        (0..count).map(|_| Step::draw(&mut rng)).collect()
    })
}

/// Calls `visit` after each call, with the state before it, the call, its result, and the state.
fn walk(
    steps: Vec<Step>,
    mut visit: impl FnMut(&State, &Call, &Result<u64, Refusal>, &State) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut state = State::new(limits());
    let mut callers = Callers::default();
    for step in steps {
        let call = callers.call(step, &state);
        let before = state.clone();
        let result = on_state(&mut state, &call, callers.now, |_| {});
        if let (Call::Command(Command::Join { .. }), Ok(lease)) = (&call, &result) {
            callers.leases.push(lasthop_registry::LeaseId::new(*lease));
        }
        visit(&before, &call, &result, &state)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_state_is_that_of_the_model(steps in steps()) {
        let mut state = State::new(limits());
        let mut model = Model::default();
        let mut callers = Callers::default();
        for step in steps {
            let call = callers.call(step, &state);
            let result = on_state(&mut state, &call, callers.now, |_| {});
            prop_assert_eq!(result.clone().ok(), model.call(&call, callers.now), "{:?}: {:?}", call, result);
            prop_assert_eq!((state.revision(), entries(&state)), (model.revision, model.entries()));
            if let (Call::Command(Command::Join { .. }), Ok(lease)) = (&call, &result) {
                callers.leases.push(lasthop_registry::LeaseId::new(*lease));
            }
        }
    }

    #[test]
    fn a_claim_raises_the_epoch_above_all_that_were(steps in steps()) {
        let mut highest = 0;
        walk(steps, |_, call, result, state| {
            if let (Call::Command(Command::Claim { client, lease, .. }), Ok(epoch)) = (call, result) {
                prop_assert!(*epoch > highest);
                highest = *epoch;
                let entry = state.get(client).expect("it is there");
                prop_assert_eq!((entry.epoch, entry.lease), (*epoch, *lease));
            }
            Ok(())
        })?;
    }

    #[test]
    fn of_an_epoch_at_most_one_claim_takes_the_client(steps in steps()) {
        let mut taken = BTreeSet::new();
        walk(steps, |_, call, result, _| {
            let Call::Command(Command::Claim { client, expected: Some(epoch), .. }) = call else { return Ok(()) };
            prop_assert!(result.is_err() || taken.insert((*client, *epoch)));
            Ok(())
        })?;
    }

    #[test]
    fn a_refused_call_changes_nothing_but_ends_what_has_run_out(steps in steps()) {
        walk(steps, |before, _, result, state| {
            if result.is_err() {
                let kept = before.snapshot().entries.into_iter();
                let ended = |entry: &Entry| !state.records().any(|(revision, _)| revision == entry.lease.number());
                let kept: Vec<_> = kept.filter(|(_, entry)| !ended(entry)).collect();
                prop_assert_eq!(kept, state.snapshot().entries);
            }
            if let Err(Refusal::Stale(current)) = result {
                prop_assert!(current.as_ref().is_none_or(|entry| entry.epoch <= state.revision()));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_watch_sees_every_change_once_and_in_order(steps in steps(), seed: u64) {
        let mut rng = Rng::named(seed, "watch");
        let mut state = State::new(limits());
        let mut callers = Callers::default();
        let (mut after, mut seen) = (0, BTreeMap::new());
        for step in steps {
            let call = callers.call(step, &state);
            if let (Call::Command(Command::Join { .. }), Ok(lease)) =
                (&call, on_state(&mut state, &call, callers.now, |_| {}))
            {
                callers.leases.push(lasthop_registry::LeaseId::new(lease));
            }
            if rng.below(4) > 0 {
                continue;
            }
            match state.changes(after) {
                Ok(changes) => for Change { revision, client, entry } in changes {
                    prop_assert!(*revision >= after);
                    after = *revision;
                    let known = match entry {
                        Some(entry) => seen.insert(*client, entry.clone()),
                        None => seen.remove(client),
                    };
                    prop_assert!(entry.is_some() || known.is_some(), "a client left twice");
                    prop_assert!(known.is_none_or(|known| known.epoch < *revision));
                },
                Err(Refusal::NotKept { oldest, .. }) => {
                    prop_assert!(after < oldest);
                    let snapshot = state.snapshot();
                    (after, seen) = (snapshot.revision, snapshot.entries.into_iter().collect());
                }
                Err(refusal) => prop_assert!(false, "{refusal}"),
            }
            let expected: BTreeMap<_, _> = state.snapshot().entries.into_iter().collect();
            prop_assert_eq!(&seen, &expected);
        }
    }

    #[test]
    fn the_records_of_a_state_restore_it(steps in steps()) {
        walk(steps, |_, _, _, state| {
            let restored = State::from_records(limits(), state.revision(), state.records(), Instant::ZERO);
            prop_assert_eq!(restored.expect("it was possible").snapshot(), state.snapshot());
            Ok(())
        })?;
    }
}

fn join(state: &mut State, number: u8, seconds: u64, now: Instant) -> lasthop_registry::LeaseId {
    let duration = Duration::from_secs(seconds);
    let event = state.decide(Command::Join { access_point: access_point(number), duration });
    lasthop_registry::LeaseId::new(state.apply(event.expect("there is room"), now))
}

#[test]
fn the_clients_of_an_expired_lease_are_free() {
    let mut state = State::new(limits());
    let lease = join(&mut state, 1, 2, Instant::ZERO);
    let claim = Call::Command(Command::Claim { client: client(1), lease, expected: None });
    let epoch = on_state(&mut state, &claim, Instant::ZERO, |_| {}).expect("it is free");
    state.renew(lease, Instant::from_secs(1)).expect("it lasts");

    on_state(&mut state, &Call::Nothing, Instant::from_millis(2_999), |_| {}).expect("nothing");
    assert_eq!(state.get(&client(1)).map(|entry| entry.epoch), Some(epoch));
    on_state(&mut state, &Call::Nothing, Instant::from_secs(3), |_| {}).expect("nothing");
    assert_eq!(state.get(&client(1)), None);
    assert_eq!(state.renew(lease, Instant::from_secs(3)), Err(Refusal::Expired));

    let lease = join(&mut state, 2, 2, Instant::from_secs(3));
    let claim = Call::Command(Command::Claim { client: client(1), lease, expected: None });
    assert!(on_state(&mut state, &claim, Instant::from_secs(3), |_| {}).expect("it is free") > epoch);
}

#[test]
fn a_stale_claim_shows_where_the_client_is() {
    let mut state = State::new(limits());
    let [old, new] = [1, 2].map(|number| join(&mut state, number, 60, Instant::ZERO));
    let claim = |lease, expected| Command::Claim { client: client(1), lease, expected };
    let event = state.decide(claim(old, None)).expect("it is free");
    let first = state.apply(event, Instant::ZERO);
    let event = state.decide(claim(new, Some(first))).expect("it was there");
    let second = state.apply(event, Instant::ZERO);
    let Err(Refusal::Stale(Some(current))) = state.decide(claim(old, Some(first))) else {
        panic!("a stale claim is refused")
    };
    assert_eq!((current.access_point.name(), current.lease, current.epoch), ("ap2", new, second));
    let message = Refusal::Stale(Some(current)).to_string();
    assert_eq!(message, "the client is at access point ap2, epoch 4");
}

#[test]
fn a_revision_that_the_registry_never_had_is_not_kept() {
    let state = State::new(limits());
    let refused = state.changes(1).map(Iterator::count);
    assert_eq!(refused, Err(Refusal::NotKept { oldest: 0, newest: 0 }));
}
