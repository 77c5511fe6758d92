//! State that moves to another agent.

use super::*;
use lasthop_agent::{Accounts as _, Transfer as _};

impl<R: Recovery> Bench<R> {
    /// Another agent continues with the exported state.
    fn hand_over(&mut self) {
        let (states, sent, _) = self.call(|snoop, cx| snoop.export(Scope::All, cx));
        assert_eq!((sent.len(), self.snoop.held(), self.snoop.octets()), (0, 0, 0), "it has nothing left");
        self.snoop = Snoop::new(self.snoop.settings.clone());
        for state in states {
            let (imported, ..) = self.call(|snoop, cx| snoop.import(&state, cx));
            assert_eq!(imported, Ok(()));
            let (again, ..) = self.call(|snoop, cx| snoop.import(&state, cx));
            assert_eq!(again, Err(ImportError::Known));
        }
    }
}

#[test]
fn repairs_continue_after_the_cache_has_moved() {
    cache_moves::<Today>(&Settings::default());
    cache_moves::<Published>(&Settings::published());
}

fn cache_moves<R: Recovery>(settings: &Settings) {
    let [stayed, moved] = [false, true].map(|moves| {
        let mut bench = Bench::<R>::with(settings.clone());
        bench.burst(0, 8);
        bench.wait(10).radio(&ack(200));
        let cached = bench.cached();
        if moves {
            bench.hand_over();
            assert_eq!(bench.cached(), cached);
        }
        bench.wait(5);
        let reports = |n: u32| ack(200).sack(&[(300, 300 + 100 * n)]);
        let copies: Vec<_> = (1..6).map(|n| bench.pass_ack(&reports(n))).collect();
        bench.wait(5).radio(&ack(800));
        assert!(bench.cached().is_empty());
        copies
    });
    assert_eq!(stayed, moved);
    assert!(stayed.iter().any(|(_, copies)| !copies.is_empty()), "there is something to repair");
}

#[test]
fn waiting_packets_move_in_order_with_the_hops_estimate() {
    let mut bench = Bench::<Today>::with(Settings::default());
    for segment in 0..30 {
        bench.pass(&data(100 * segment, 100), Side::Core);
    }
    assert_eq!(bench.snoop.held(), 10);
    bench.hand_over();
    assert_eq!(bench.snoop.held(), 10, "the window is as it was");
    let step = bench.wait(5).radio(&ack(2000));
    assert_eq!(pieces(&step.copies), (20..30).map(|n| (100 * n, 100)).collect::<Vec<_>>());
}

#[test]
fn one_hosts_connections_move_and_others_stay() {
    let mut bench = Bench::<Today>::with(Settings::default());
    bench.burst(0, 3);
    let here = data(0, 1).flow_key().expect("TCP");
    let there = FlowKey { destination: (IpAddr::from([192, 0, 2, 77]), 5), ..here };
    for scope in [Scope::Host(there.destination.0), Scope::Connection(there)] {
        assert!(bench.call(|snoop, cx| snoop.export(scope, cx)).0.is_empty());
    }
    let (states, ..) = bench.call(|snoop, cx| snoop.export(Scope::Host(here.destination.0), cx));
    let [state] = states.as_slice() else { panic!("one: {states:?}") };
    assert_eq!((state.connection, state.scheme.as_ref()), (here, "snoop"));
    assert!(bench.cached().is_empty());
}

#[test]
fn an_impossible_state_is_rejected_and_changes_nothing() {
    let mut bench = Bench::<Today>::with(Settings::default());
    bench.burst(0, 3);
    let (states, ..) = bench.call(|snoop, cx| snoop.export(Scope::All, cx));
    let [state] = states.as_slice() else { panic!("one: {states:?}") };
    let far = FlowKey { source: state.connection.destination, ..state.connection };
    let another = FlowState { connection: far, ..state.clone() };
    let cut = FlowState { octets: state.octets[..state.octets.len() / 2].to_vec(), ..state.clone() };
    let mut later = state.clone();
    later.octets[0] += 1;
    for wrong in [another, cut, later] {
        let (refusal, ..) = bench.call(|snoop, cx| snoop.import(&wrong, cx));
        assert!(refusal.is_err(), "{refusal:?}");
        assert_eq!((bench.snoop.octets(), bench.cached().len()), (0, 0));
    }
    let tight = Budget { flows: 0, ..Budget::default() };
    bench.budget = tight;
    let (refusal, ..) = bench.call(|snoop, cx| snoop.import(state, cx));
    assert_eq!(refusal, Err(ImportError::NoRoom("connections")));
}
