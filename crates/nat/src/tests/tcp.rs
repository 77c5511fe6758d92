//! TCP: RFC 5382, and its updates in RFC 7857.

use super::*;

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);
const FIN_ACK: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);
const AT: SocketAddrV4 = SocketAddrV4::new(OUTSIDE, 7000);

/// A translator with a connection of the host's port 7000 to the server, established at 0 s.
fn established() -> Nat {
    let mut nat = nat();
    sent(&mut nat, TcpFlags::SYN, 0).expect("translated");
    received(&mut nat, SYN_ACK, 0).expect("translated");
    sent(&mut nat, TcpFlags::ACK, 0).expect("translated");
    nat
}

fn sent(nat: &mut Nat, flags: TcpFlags, now: u64) -> Result<Packet, Refusal> {
    out(nat, &segment(host(7000), SERVER, flags), at(now))
}

fn received(nat: &mut Nat, flags: TcpFlags, now: u64) -> Result<Packet, Refusal> {
    back(nat, &segment(SERVER, AT, flags), at(now))
}

const ESTABLISHED: u64 = 124 * 60;
const TRANSITORY: u64 = 4 * 60;

#[test]
fn an_established_connection_stays_for_2_hours_4_minutes_of_silence() {
    for from_inside in [true, false] {
        let mut nat = established();
        let packet = |nat: &mut Nat, now| {
            let sends = if from_inside { sent } else { received };
            sends(nat, TcpFlags::ACK, now).map(|_| ())
        };
        assert_eq!(packet(&mut nat, ESTABLISHED - 1), Ok(()));
        assert_eq!(packet(&mut nat, 2 * ESTABLISHED - 2), Ok(()), "refreshed");
        let expected = if from_inside { Refusal::NoSession } else { Refusal::NoMapping };
        assert_eq!(packet(&mut nat, 3 * ESTABLISHED - 2), Err(expected));
    }
}

#[test]
fn an_opening_connection_stays_for_4_minutes() {
    let mut nat = nat();
    sent(&mut nat, TcpFlags::SYN, 0).expect("translated");
    assert!(received(&mut nat, SYN_ACK, TRANSITORY - 1).is_ok());
    let mut nat = super::nat();
    sent(&mut nat, TcpFlags::SYN, 0).expect("translated");
    assert_eq!(received(&mut nat, SYN_ACK, TRANSITORY), Err(Refusal::NoMapping));
}

#[test]
fn a_closed_connection_stays_for_4_minutes_and_one_closed_at_one_end_as_before() {
    let mut nat = established();
    sent(&mut nat, FIN_ACK, 1).expect("translated");
    assert!(received(&mut nat, TcpFlags::ACK, 1000).is_ok(), "the other end still sends");
    received(&mut nat, FIN_ACK, 1001).expect("translated");
    assert!(sent(&mut nat, TcpFlags::ACK, 1000 + TRANSITORY).is_ok());
    assert_eq!(received(&mut nat, TcpFlags::ACK, 1000 + 2 * TRANSITORY), Err(Refusal::NoMapping));
}

#[test]
fn after_a_reset_state_stays_for_4_minutes_and_data_shows_that_it_was_forged() {
    let mut nat = established();
    received(&mut nat, TcpFlags::RST, 1).expect("translated");
    assert!(sent(&mut nat, TcpFlags::ACK, TRANSITORY).is_ok());
    assert!(sent(&mut nat, TcpFlags::ACK, ESTABLISHED).is_ok(), "established as before");
    received(&mut nat, TcpFlags::RST, ESTABLISHED + 1).expect("translated");
    assert_eq!(sent(&mut nat, TcpFlags::ACK, ESTABLISHED + 1 + TRANSITORY), Err(Refusal::NoSession));
}

#[test]
fn a_reset_from_inside_does_not_refresh() {
    let mut nat = established();
    received(&mut nat, TcpFlags::RST, 1).expect("translated");
    for second in 2..TRANSITORY {
        assert!(sent(&mut nat, TcpFlags::RST, second).is_ok());
    }
    assert_eq!(sent(&mut nat, TcpFlags::RST, 1 + TRANSITORY), Err(Refusal::NoSession));
}

#[test]
fn ports_that_are_used_again_are_of_an_opening_connection() {
    let mut nat = established();
    received(&mut nat, TcpFlags::RST, 1).expect("translated");
    sent(&mut nat, TcpFlags::SYN, 2).expect("translated");
    received(&mut nat, SYN_ACK, 3).expect("translated");
    assert!(sent(&mut nat, TcpFlags::ACK, ESTABLISHED).is_ok(), "established");
}

#[test]
fn both_ends_may_open_at_the_same_time() {
    let mut nat = nat();
    sent(&mut nat, TcpFlags::SYN, 0).expect("translated");
    assert_eq!(ends(&received(&mut nat, TcpFlags::SYN, 1).expect("translated"))[1], host(7000));
    sent(&mut nat, SYN_ACK, 2).expect("translated");
    assert!(sent(&mut nat, TcpFlags::ACK, ESTABLISHED).is_ok(), "established");
}

#[test]
fn a_syn_from_outside_is_dropped_unless_it_was_asked_for() {
    let mut nat = established();
    let stranger = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 5), 80);
    assert_eq!(back(&mut nat, &syn(stranger, AT), at(1)), Err(Refusal::Filtered));
    assert_eq!(
        back(&mut nat, &syn(SERVER, SocketAddrV4::new(OUTSIDE, 7001)), at(1)),
        Err(Refusal::NoMapping)
    );
}

#[test]
fn only_a_syn_opens_a_session_unless_connections_are_picked_up() {
    for flags in [TcpFlags::ACK, SYN_ACK, FIN_ACK, TcpFlags::RST, TcpFlags::default()] {
        assert_eq!(sent(&mut nat(), flags, 0), Err(Refusal::NoSession));
        let mut loose = nat_with(|config| config.picks_up = true);
        assert_eq!(sent(&mut loose, flags, 0).is_ok(), flags != TcpFlags::RST);
    }
    let mut loose = nat_with(|config| config.picks_up = true);
    sent(&mut loose, TcpFlags::ACK, 0).expect("translated");
    assert!(received(&mut loose, TcpFlags::ACK, ESTABLISHED - 1).is_ok());
}
