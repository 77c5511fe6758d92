//! State that moves to another agent.

use lasthop_agent::{FlowState, ImportError, Scope, Transfer as _};

use super::*;

fn hand_over(bench: &mut Bench, settings: &Settings) {
    let (states, made) = bench.call(|agent, cx| agent.export(Scope::All, cx));
    assert!(made.is_empty() && bench.flow().is_none() && bench.agent.deadline().is_none());
    bench.agent = PacketControl::new(settings.clone());
    for state in states {
        assert_eq!(bench.call(|agent, cx| agent.import(&state, cx)).0, Ok(()));
        assert_eq!(bench.call(|agent, cx| agent.import(&state, cx)).0, Err(ImportError::Known));
    }
}

#[test]
fn counts_and_withheld_acks_move_with_the_state() {
    for settings in [Settings { threshold: 9, ..Settings::default() }, Settings::published()] {
        let mut bench = Bench::started(settings.clone());
        bench.duplicates(&ack(1), 1);
        bench.wait(40).radio(&ack(3));
        assert_eq!(bench.duplicates(&ack(3), 2), [false, false]);
        hand_over(&mut bench, &settings);
        assert_eq!(bench.duplicates(&ack(3), 2), [true, false]);
        let is_published = settings == Settings::published();
        assert_eq!(bench.wait(80).timer(), if is_published { vec![] } else { vec![ack(3), ack(3)] });
        assert_eq!(bench.core(&data(1)).verdict, Verdict::Drop(&REPEATED_DATA));
    }
}

#[test]
fn an_impossible_state_is_rejected_and_changes_nothing() {
    let mut bench = Bench::started(Settings::default());
    let (states, _) = bench.call(|agent, cx| agent.export(Scope::All, cx));
    let [state] = states.as_slice() else { panic!("one: {states:?}") };
    let another = FlowState { connection: key().reversed(), ..state.clone() };
    let cut = FlowState { octets: state.octets[..state.octets.len() / 2].to_vec(), ..state.clone() };
    let mut later = state.clone();
    later.octets[0] += 1;
    for wrong in [another, cut, later] {
        assert!(bench.call(|agent, cx| agent.import(&wrong, cx)).0.is_err());
        assert!(bench.flow().is_none());
    }
}
