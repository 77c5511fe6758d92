//! A state with changed octets is rejected, or results in a working agent.

use lasthop_agent::{Accounts, Budget, Context, FlowState, ImportError, Outbox, Scope, Side, Transfer};
use lasthop_hop::transfer::SIMULATED;
use lasthop_packet::{Instant, Rng};
use proptest::prelude::*;

use super::bench::{Bench, fixed, mobile};
use crate::cicada::{Cicada, Settings};

/// In the middle of a transfer both ways, with a gap; the outstanding octets follow.
fn state() -> FlowState {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.core(&fixed(2001, 500, 5001));
    bench.radio(&mobile(5001, 900, 1001));
    export(bench)
}

/// With some outstanding octets in it.
fn complete_state() -> FlowState {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 200, 5001));
    export(bench)
}

fn export(mut bench: Bench) -> FlowState {
    let exported = bench.seat.call(bench.now, |agent, cx| agent.export(Scope::All, cx));
    exported.expect("there is an agent").0.swap_remove(0)
}

fn drive(state: &FlowState) {
    let mut bench = Bench::new();
    bench.seat.agent = Some(Cicada::new(&Settings::default()));
    let imported = bench.seat.call(bench.now, |agent, cx| agent.import(state, cx));
    if imported.is_none_or(|(result, _)| result.is_err()) {
        return;
    }
    for round in 0..12 {
        bench.core(&fixed(1501 + 500 * round, 500, 5901));
        bench.radio(&mobile(5901 + 100 * round, 100, 1501 + 300 * round));
        let sent = bench.wait(400).sent;
        assert!(sent.len() < 100_000, "it does not stop sending");
        assert!(sent.iter().all(|(side, _)| matches!(side, Side::Core | Side::Radio)));
        let agent = bench.seat.agent.as_ref().expect("there is an agent");
        assert_eq!(agent.owed().octets, bench.obligation().octets());
    }
}

#[test]
fn an_unchanged_state_is_accepted() {
    let mut bench = Bench::new();
    let (result, _) = bench.seat.call(bench.now, |agent, cx| agent.import(&state(), cx)).expect("an agent");
    assert_eq!(result, Ok(()));
    drive(&state());
}

/// The result of the state's import by a new agent, in a context modified by `of`, the agent's memory
/// afterwards, and the octets allocated meanwhile.
fn import_within(
    state: &FlowState,
    of: impl FnOnce(Context<'_>) -> Context<'_>,
) -> (Result<(), ImportError>, usize, u64) {
    let (mut rng, mut outbox) = (Rng::named(1, "changed"), Outbox::default());
    let mut agent = Cicada::new(&Settings::default());
    let mut cx = of(Context::new(Instant::from_secs(1), &mut rng, &mut outbox));
    let mut result = Ok(());
    let allocated = allocation_counter::measure(|| result = agent.import(state, &mut cx));
    (result, agent.octets(), allocated.bytes_total)
}

#[test]
fn an_oversized_state_is_rejected_before_it_allocates() {
    let of = |octets_per_flow| {
        import_within(&state(), |cx| cx.within(Budget { octets_per_flow, ..Budget::default() }))
    };
    let ((refused, octets, to_read), (taken, _, in_all)) = (of(1), of(1 << 20));
    assert_eq!((refused, octets, taken), (Err(ImportError::NoRoom("memory of a connection")), 0, Ok(())));
    // Only the octets of the state itself when it was read.
    assert!(to_read < 2048 && in_all > 2 * to_read, "{to_read}, {in_all}");
}

#[test]
#[expect(clippy::redundant_closure_for_method_calls, reason = "its lifetime is not general enough")]
fn simulated_octets_are_refused_among_real_hosts() {
    let (result, octets, _) = import_within(&complete_state(), |cx| cx.among_real_hosts());
    assert_eq!((result, octets), (Err(SIMULATED), 0));
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn changed_octets_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        is_complete in any::<bool>(),
    ) {
        let mut state = if is_complete { complete_state() } else { state() };
        for (place, value) in changes {
            let place = place.index(state.octets.len());
            state.octets[place] = value;
        }
        drive(&state);
    }
}
