//! A state whose octets were changed on the way is refused, or makes an agent that can be driven.

use lasthop_agent::{Agent, FlowState, Side, Whose};
use proptest::prelude::*;

use super::bench::{Bench, fixed, mobile};
use crate::cicada::{Cicada, Settings};

/// In the middle of a transfer both ways, with a gap.
fn state() -> FlowState {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.core(&fixed(2001, 500, 5001));
    bench.radio(&mobile(5001, 900, 1001));
    let (mut states, _) =
        bench.seat.call(bench.now, |agent, cx| agent.export(Whose::All, cx)).expect("there is an agent");
    states.pop().expect("a state")
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
fn a_state_that_was_not_changed_is_taken() {
    let mut bench = Bench::new();
    let (result, _) = bench.seat.call(bench.now, |agent, cx| agent.import(&state(), cx)).expect("an agent");
    assert_eq!(result, Ok(()));
    drive(&state());
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn changed_octets_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut state = state();
        for (place, value) in changes {
            let place = place.index(state.octets.len());
            state.octets[place] = value;
        }
        drive(&state);
    }
}
