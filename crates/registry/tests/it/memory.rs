//! The bound of the memory.

use std::net::Ipv6Addr;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::state::{Command, Event};
use lasthop_registry::{AccessPoint, Client, LeaseId, Limits, Refusal, State};

#[test]
fn a_full_state_stays_within_the_memory_that_was_announced() {
    let limits = Limits::default();
    let apply = |state: &mut State, command| match state.decide(command) {
        Ok(event) => Some(state.apply(event, Instant::ZERO)),
        Err(Refusal::Full { .. }) => None,
        Err(refusal) => panic!("{refusal}"),
    };
    let key = |number: u32| Client::new(&[&number.to_be_bytes()[..], &[7; 28]].concat()).expect("a key");
    let name = "n".repeat(usize::from(limits.name_octets));
    let access_point = AccessPoint::new(&name, (Ipv6Addr::LOCALHOST, 1).into());
    let mut state = None;
    let allocated = allocation_counter::measure(|| {
        let state = state.insert(State::new(limits));
        // All kept changes are of access points that have left.
        for number in 0..limits.backlog {
            let join = Command::Join { access_point: access_point.clone(), duration: Duration::MAX };
            let lease = LeaseId::new(apply(state, join).expect("there is room"));
            apply(state, Command::Claim { client: key(number), lease, expected: None });
            state.apply(Event::Ended(lease), Instant::ZERO);
        }
        let join = || Command::Join { access_point: access_point.clone(), duration: Duration::MAX };
        let leases: Vec<_> = std::iter::from_fn(|| apply(state, join())).map(LeaseId::new).collect();
        assert_eq!(leases.len(), limits.access_points as usize);
        let claim = |number| Command::Claim { client: key(number), lease: leases[0], expected: None };
        let claimed = (0..=limits.clients).filter(|number| apply(state, claim(*number)).is_some()).count();
        assert_eq!(claimed, limits.clients as usize);
    });
    let announced = limits.memory();
    assert!(allocated.bytes_max <= announced, "{} octets of {announced}", allocated.bytes_max);
    assert!(allocated.bytes_max > announced / 4, "{} octets of {announced}", allocated.bytes_max);
}
