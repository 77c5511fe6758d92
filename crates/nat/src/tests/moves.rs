//! The state of a host as a value.

use super::*;
use crate::transfer::{ImportError, write};
use crate::{Mapping, Redirect};

const NEW: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

fn new_nat() -> Nat {
    nat_with(|config| config.outside = vec![NEW])
}

/// A translator with a connection, a UDP session and a forwarding of the host's.
fn old_nat() -> Nat {
    let mut nat = nat_with(|config| config.keeps_ports = false);
    out(&mut nat, &syn(host(7000), SERVER), at(0)).expect("translated");
    let of_server = nat.outside_of(inside(Protocol::Tcp, 7000)).expect("it has one").socket();
    back(&mut nat, &segment(SERVER, of_server, TcpFlags::SYN.with(TcpFlags::ACK)), at(0))
        .expect("translated");
    send(&mut nat, 7002, at(0));
    nat.forward(inside(Protocol::Tcp, 22), Some(2222), at(0)).expect("free");
    nat
}

#[test]
fn a_host_goes_on_elsewhere_with_its_ports_and_what_is_left_of_its_times() {
    let mut old = old_nat();
    let state = old.export(HOST, at(100));
    let mut new = new_nat();
    // The other machine's clock has another zero.
    let state = new.read(&write(&state)).expect("it was just written");
    let redirects = new.import(&state, at(5)).expect("there is room");
    assert_eq!(redirects.len(), 3);
    for (Redirect { from, to }, mapping) in redirects.iter().zip(&state) {
        assert_eq!((from.port, to.address, mapping.outside()), (to.port, NEW, *from));
        assert_eq!(new.outside_of(mapping.inside()), Some(*to));
    }
    let at_new = |protocol, port| new_socket(&redirects, &old, inside(protocol, port));
    let (tcp, udp) = (at_new(Protocol::Tcp, 7000), at_new(Protocol::Udp, 7002));
    assert!(back(&mut new, &segment(SERVER, tcp, TcpFlags::ACK), at(5 + 7000)).is_ok(), "established");
    let mut again = new_nat();
    again.import(&state, at(5)).expect("there is room");
    assert_eq!(answer(&mut again, udp, at(5 + 19)), Ok(host(7002)));
    let mut again = new_nat();
    again.import(&state, at(5)).expect("there is room");
    assert_eq!(answer(&mut again, udp, at(5 + 20)), Err(Refusal::NoMapping), "100 of 120 s were over");
    let web = SocketAddrV4::new(NEW, 2222);
    assert!(back(&mut again, &syn(SocketAddrV4::new(NEW, 9), web), at(9)).is_ok(), "the forwarding");

    assert_eq!((old.remove(HOST), old.len(at(100))), (3, (0, 0)));
}

fn new_socket(redirects: &[Redirect], old: &Nat, inside: Endpoint) -> SocketAddrV4 {
    let from = old.outside_of(inside).expect("it has one");
    redirects.iter().find(|redirect| redirect.from == from).expect("it moved").to.socket()
}

#[test]
fn a_port_that_another_host_has_becomes_another_one() {
    let mut old = nat();
    send(&mut old, 7000, at(0));
    let mut new = new_nat();
    let rival = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 9), 7000);
    out(&mut new, &datagram(rival, SERVER), at(0)).expect("translated");
    let redirects = new.import(&old.export(HOST, at(0)), at(0)).expect("there is room");
    let [Redirect { from, to }] = redirects[..] else { panic!("one") };
    assert!(from.port == 7000 && to.port != 7000 && to.port % 2 == 0);
    assert_eq!(answer(&mut new, to.socket(), at(1)), Ok(host(7000)));
    assert_eq!(answer(&mut new, SocketAddrV4::new(NEW, 7000), at(1)), Ok(rival));
}

#[test]
fn state_that_collides_or_is_malformed_is_refused_and_changes_nothing() {
    let mut old = old_nat();
    let state = old.export(HOST, at(0));
    let mut known = new_nat();
    send(&mut known, 7002, at(0));
    assert_eq!(known.import(&state, at(0)), Err(ImportError::Known(inside(Protocol::Udp, 7002))));
    assert_eq!(known.len(at(0)), (1, 1));

    let mut twice = state.clone();
    twice.extend_from_slice(&state[..1]);
    let mut other = old_nat();
    let stranger = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 9), 1);
    out(&mut other, &datagram(stranger, SERVER), at(0)).expect("translated");
    let mut of_two = state.clone();
    of_two.extend(other.export(*stranger.ip(), at(0)));
    let mut new = new_nat();
    assert_eq!(new.import(&twice, at(0)), Err(ImportError::Known(state[0].inside())));
    assert_eq!(new.import(&of_two, at(0)), Err(ImportError::Malformed("it is of several hosts")));
    let mut itself = nat_with(|config| config.outside = vec![HOST]);
    assert!(matches!(itself.import(&state, at(0)), Err(ImportError::Malformed(_))));
    assert_eq!((new.len(at(0)), itself.len(at(0))), ((0, 0), (0, 0)));
}

#[test]
fn octets_that_are_no_state_are_refused_and_none_makes_it_panic() {
    let mut old = old_nat();
    let octets = write(&old.export(HOST, at(0)));
    let nat = new_nat();
    assert_eq!(nat.read(&[]), Err(ImportError::Malformed("it is empty")));
    let mut version = octets.clone();
    version[0] = 9;
    assert_eq!(nat.read(&version), Err(ImportError::Version { found: 9 }));
    for len in 1..octets.len() {
        assert!(nat.read(&octets[..len]).is_err(), "{len}");
    }
    let huge = vec![1; 1 << 24];
    assert_eq!(nat.read(&huge), Err(ImportError::Full));
    let mut rng = Rng::named(1, "octets");
    for _ in 0..20_000 {
        let mut hostile = octets.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(hostile.len() as u64) as usize;
            hostile[at] = rng.next_u64() as u8;
        }
        let mut nat = new_nat();
        let imported = nat.read(&hostile).and_then(|state: Vec<Mapping>| nat.import(&state, at(1)));
        // What was about to expire is gone.
        assert!(nat.len(at(1)).0 <= imported.map_or(0, |redirects| redirects.len()));
    }
}

#[test]
fn redirected_mappings_keep_their_outside_ends() {
    let mut central = nat_with(|config| config.keeps_ports = false);
    let [old, new] = [30, 31].map(|number| Ipv4Addr::new(172, 16, 0, number));
    let of = |address, port| Endpoint::new(Protocol::Udp, SocketAddrV4::new(address, port));
    let outside = |nat: &mut Nat, from: Endpoint| {
        ends(&out(nat, &datagram(from.socket(), SERVER), at(0)).expect("room"))[0]
    };
    let moving = outside(&mut central, of(old, 1));
    let staying = outside(&mut central, of(old, 2));
    let stale = outside(&mut central, of(new, 9));
    let redirects =
        [Redirect { from: of(old, 1), to: of(new, 9) }, Redirect { from: of(old, 99), to: of(new, 99) }];
    assert_eq!(central.redirect(&redirects, at(1)), Ok(1));
    assert_eq!(answer(&mut central, moving, at(2)), Ok(of(new, 9).socket()));
    assert_eq!(answer(&mut central, staying, at(2)), Ok(of(old, 2).socket()));
    assert_eq!(answer(&mut central, stale, at(2)), Err(Refusal::NoMapping), "the port has another owner");
    assert_eq!(outside(&mut central, of(new, 9)), moving, "and in the other direction");
    // Two that change places.
    let swap = [Redirect { from: of(new, 9), to: of(old, 2) }, Redirect { from: of(old, 2), to: of(new, 9) }];
    assert_eq!(central.redirect(&swap, at(3)), Ok(2));
    assert_eq!(answer(&mut central, moving, at(4)), Ok(of(old, 2).socket()));
    assert_eq!(answer(&mut central, staying, at(4)), Ok(of(new, 9).socket()));
}

#[test]
fn a_redirection_that_cannot_be_is_refused_as_a_whole() {
    let mut central = nat_with(|config| config.limits.mappings_per_host = 2);
    let [old, new] = [30, 31].map(|number| Ipv4Addr::new(172, 16, 0, number));
    let of = |address, port| Endpoint::new(Protocol::Udp, SocketAddrV4::new(address, port));
    for from in [of(old, 1), of(old, 2), of(new, 3)] {
        out(&mut central, &datagram(from.socket(), SERVER), at(0)).expect("room");
    }
    let before: Vec<_> = central.mappings().collect();
    let redirect = |from, to| Redirect { from, to };
    let both = [redirect(of(old, 1), of(new, 1)), redirect(of(old, 2), of(new, 2))];
    assert_eq!(central.redirect(&both, at(0)), Err(ImportError::Full));
    let same = [redirect(of(old, 1), of(new, 1)), redirect(of(old, 2), of(new, 1))];
    assert_eq!(central.redirect(&same, at(0)), Err(ImportError::Known(of(new, 1))));
    let tcp = Endpoint::new(Protocol::Tcp, of(new, 1).socket());
    for impossible in [tcp, of(OUTSIDE, 1), of(Ipv4Addr::BROADCAST, 1), of(new, 0)] {
        let refused = central.redirect(&[redirect(of(old, 1), impossible)], at(0));
        assert!(matches!(refused, Err(ImportError::Malformed(_))));
    }
    assert_eq!(central.mappings().collect::<Vec<_>>(), before);
}

#[test]
fn a_host_that_is_held_gets_no_mapping_and_no_packet() {
    let mut nat = nat();
    let outside = send(&mut nat, 7000, at(0));
    assert!(nat.hold(HOST, at(50), at(1)));
    assert_eq!(out(&mut nat, &datagram(host(7000), SERVER), at(1)), Err(Refusal::Held));
    assert_eq!(out(&mut nat, &syn(host(1), SERVER), at(1)), Err(Refusal::Held));
    assert_eq!(answer(&mut nat, outside, at(1)), Err(Refusal::Held));
    assert_eq!(nat.len(at(1)), (1, 1));
    nat.resume(HOST);
    assert_eq!(answer(&mut nat, outside, at(1)), Ok(host(7000)));
    assert!(nat.hold(HOST, at(3), at(1)));
    assert_eq!(answer(&mut nat, outside, at(2)), Err(Refusal::Held));
    assert_eq!(answer(&mut nat, outside, at(3)), Ok(host(7000)), "the time is over");
}
