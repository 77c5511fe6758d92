//! Its state as a value.

use std::time::Duration;

use lasthop_agent::{FlowState, ImportError, Scope, Transfer as _};

use super::*;

impl Station {
    fn export(&mut self) -> Vec<FlowState> {
        let mut states = Vec::new();
        self.call(|agent, cx| states = agent.export(Scope::All, cx));
        states
    }

    fn import(&mut self, state: &FlowState) -> Result<(), ImportError> {
        let mut result = Ok(());
        self.call(|agent, cx| result = agent.import(state, cx));
        result
    }

    /// Another agent takes its place, `later` by another clock.
    fn replace(&mut self, host: IpAddr, later: Duration) {
        let states = self.export();
        assert_eq!(states.len(), 1);
        assert_eq!(self.export(), [], "it has gone");
        let fresh = Self::new(host, unsmoothed());
        self.agent = fresh.agent;
        self.now += later;
        for state in states {
            assert_eq!(self.import(&state), Ok(()));
        }
    }
}

/// One segment over one hop, and its ACK back. Returns the window that the sender gets.
fn round(n1: &mut Station, n4: &mut Station, seq: u32) -> u16 {
    let mut data = segment([N1, N4], seq, MSS, 1);
    n1.see(&mut data, Side::Core);
    n1.transmit(&mut data, &TIMES);
    n4.see(&mut data, Side::Radio);
    let mut ack = segment([N4, N1], 1, 0, seq + MSS);
    n4.see(&mut ack, Side::Core);
    n4.transmit(&mut ack, &TIMES);
    n1.see(&mut ack, Side::Radio);
    window(&ack)
}

#[test]
fn another_agent_continues_with_the_window_the_echo_and_the_scales() {
    let scales = [Some(2), Some(1)];
    let [mut left, mut right] = ends(&unsmoothed(), scales);
    let [mut n1, mut n4] = ends(&unsmoothed(), scales);
    for seq in [1, 1001, 2001] {
        let as_ever = round(&mut left, &mut right, seq);
        n1.replace(N1, Duration::from_secs(1000));
        n4.replace(N4, Duration::from_secs(500));
        assert_eq!(round(&mut n1, &mut n4, seq), as_ever);
    }
    // An ACK that has lost its options gets the remembered window.
    n1.replace(N1, Duration::ZERO);
    let [mut here, mut there] = [segment([N4, N1], 1, 0, 3001), segment([N4, N1], 1, 0, 3001)];
    left.see(&mut here, Side::Radio);
    n1.see(&mut there, Side::Radio);
    assert_eq!(window(&there), window(&here));
}

#[test]
fn measurements_age_during_a_transfer() {
    let [mut n1, mut n4] = ends(&unsmoothed(), [None; 2]);
    round(&mut n1, &mut n4, 1);
    let states = n1.export();
    let mut fresh = Station::new(N1, unsmoothed());
    fresh.now = us(60_000_000);
    assert_eq!(fresh.import(&states[0]), Ok(()));
    fresh.now += Duration::from_secs(4);
    let mut ack = segment([N4, N1], 1, 0, 1001);
    fresh.see(&mut ack, Side::Radio);
    assert_eq!(window(&ack), window(&segment([N4, N1], 1, 0, 1001)), "it has no measurement that counts");
}

#[test]
fn an_impossible_state_is_rejected_and_none_is_imported_twice() {
    let [mut n1, mut n4] = ends(&unsmoothed(), [None; 2]);
    round(&mut n1, &mut n4, 1);
    let state = n4.export().remove(0);
    let mut fresh = Station::new(N4, unsmoothed());
    for length in 0..state.octets.len() {
        let cut = FlowState { octets: state.octets[..length].to_vec(), ..state.clone() };
        assert!(fresh.import(&cut).is_err(), "{length} octets");
    }
    let other = FlowState { octets: [&[9], &state.octets[1..]].concat(), ..state.clone() };
    assert_eq!(fresh.import(&other), Err(ImportError::Version { found: 9, known: 3 }));
    assert_eq!(fresh.import(&state), Ok(()));
    assert_eq!(fresh.import(&state), Err(ImportError::Known));
}
