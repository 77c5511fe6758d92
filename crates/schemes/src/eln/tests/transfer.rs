//! State that moves to another agent.

use lasthop_agent::{FlowState, ImportError, Scope, Transfer as _};

use super::*;

impl Bench {
    pub(super) fn export(&mut self) -> Vec<FlowState> {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(Instant::from_millis(self.millis), &mut self.rng, &mut outbox);
        self.eln.export(Scope::All, &mut cx)
    }

    pub(super) fn import(&mut self, state: &FlowState) -> Result<(), ImportError> {
        let mut outbox = Outbox::default();
        let cx = Context::new(Instant::from_millis(self.millis), &mut self.rng, &mut outbox);
        self.eln.import(state, &mut cx.within(self.budget))
    }
}

#[test]
fn holes_move_and_are_reported_afterwards() {
    let mut bench = Bench::new(Settings::default());
    let shown = bench.lose_and_repair();
    let states = bench.export();
    assert!(bench.export().is_empty(), "it does not know the connection any more");
    bench.eln = Eln::new(Settings::default());
    for state in &states {
        assert_eq!(bench.import(state), Ok(()));
        assert_eq!(bench.import(state), Err(ImportError::Known));
    }
    assert_eq!(echo(&bench.ack(1500)), shown);
}

#[test]
fn an_impossible_state_is_rejected() {
    let mut bench = Bench::new(Settings::default());
    bench.lose_and_repair();
    let states = bench.export();
    let [state] = states.as_slice() else { panic!("one: {states:?}") };
    let cut = FlowState { octets: state.octets[..state.octets.len() / 2].to_vec(), ..state.clone() };
    assert!(bench.import(&cut).is_err());
    bench.budget = Budget { flows: 0, ..Budget::default() };
    assert_eq!(bench.import(state), Err(ImportError::NoRoom("connections")));
}
