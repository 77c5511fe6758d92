//! What a full translator does.

use super::*;
use crate::{Limits, Mapping};

fn limited(change: impl FnOnce(&mut Limits)) -> Nat {
    nat_with(|config| change(&mut config.limits))
}

#[test]
fn a_host_at_its_limit_gets_no_more_and_others_do() {
    for by_sessions in [false, true] {
        let mut nat = limited(|limits| {
            let limit =
                if by_sessions { &mut limits.sessions_per_host } else { &mut limits.mappings_per_host };
            *limit = 3;
        });
        for port in 1..=3 {
            assert!(out(&mut nat, &datagram(host(port), SERVER), at(0)).is_ok());
        }
        assert_eq!(out(&mut nat, &datagram(host(4), SERVER), at(1)), Err(Refusal::Full));
        assert!(out(&mut nat, &datagram(host(3), SERVER), at(119)).is_ok(), "it has that");
        let other = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 9), 1);
        assert!(out(&mut nat, &datagram(other, SERVER), at(1)).is_ok());
        assert!(out(&mut nat, &datagram(host(4), SERVER), at(120)).is_ok(), "two have expired");
    }
}

#[test]
fn sessions_from_outside_count_too() {
    let mut nat = limited(|limits| limits.sessions_per_host = 2);
    nat.forward(inside(Protocol::Udp, 53), Some(5353), at(0)).expect("free");
    let query = |number| datagram(SocketAddrV4::new(*SERVER.ip(), number), SocketAddrV4::new(OUTSIDE, 5353));
    assert!(back(&mut nat, &query(1), at(0)).is_ok() && back(&mut nat, &query(2), at(0)).is_ok());
    assert_eq!(back(&mut nat, &query(3), at(0)), Err(Refusal::Full));
}

#[test]
fn a_full_table_and_a_used_up_range_refuse_and_evict_nothing() {
    let tables: [fn(&mut NatConfig); 3] = [
        |config| config.limits.mappings = 8,
        |config| config.limits.sessions = 8,
        |config| config.ports = 2000..=2007,
    ];
    for change in tables {
        let mut nat = nat_with(change);
        let from = |number: u8| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, number), 5000);
        let first: Vec<_> = (1..=8)
            .map(|number| ends(&out(&mut nat, &syn(from(number), SERVER), at(0)).expect("room"))[0])
            .collect();
        for number in 9..200 {
            assert_eq!(out(&mut nat, &syn(from(number), SERVER), at(1)), Err(Refusal::Full));
        }
        assert_eq!((nat.len(at(1)), nat.counts().dropped[&Refusal::Full]), ((8, 8), 191));
        for (number, outside) in (1..=8).zip(first) {
            assert_eq!(ends(&out(&mut nat, &syn(from(number), SERVER), at(2)).expect("known"))[0], outside);
        }
    }
}

#[test]
fn the_default_limits_take_a_known_amount_of_memory() {
    let octets = Limits::default().memory();
    assert!((10 << 20..32 << 20).contains(&octets), "{octets}");
}

#[test]
fn hosts_are_held_up_to_a_limit() {
    let mut nat = limited(|limits| limits.held = 1);
    let other = Ipv4Addr::new(10, 0, 0, 8);
    assert!(nat.hold(HOST, at(5), at(0)) && nat.hold(HOST, at(6), at(0)));
    assert!(!nat.hold(other, at(9), at(5)));
    assert!(nat.hold(other, at(9), at(6)), "the first one's time is over");
    nat.resume(other);
    assert!(nat.hold(HOST, at(9), at(6)));
}

#[test]
fn state_for_which_there_is_no_room_changes_nothing() {
    let mut old = nat();
    let mut mappings = Vec::new();
    for port in 1..=20 {
        send(&mut old, 5000 + port, at(0));
    }
    mappings.extend(old.export(HOST, at(0)));
    let refuses: [fn(&mut NatConfig); 5] = [
        |config| config.limits.mappings = 19,
        |config| config.limits.mappings_per_host = 19,
        |config| config.limits.sessions = 19,
        |config| config.limits.sessions_per_host = 19,
        |config| config.ports = 2000..=2018,
    ];
    for change in refuses {
        let mut nat = nat_with(change);
        assert_eq!(nat.import(&mappings, at(0)), Err(crate::transfer::ImportError::Full));
        assert_eq!(nat.len(at(0)), (0, 0));
    }
    assert_eq!(nat().import(&mappings, at(0)).map(|redirects| redirects.len()), Ok(20));
    let few: &[Mapping] = &[];
    assert_eq!(nat().import(few, at(0)), Ok(Vec::new()));
}
