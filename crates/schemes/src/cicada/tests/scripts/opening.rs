//! Which connections are split, and which are left alone.

use lasthop_agent::Obligation;
use lasthop_packet::{Packet, Payload, Seq, TcpFlags, wire};

use super::super::bench::{Bench, FIXED_ISS, MOBILE_ISS, answer, fixed, mobile, syn};
use super::super::world::{FIXED, KEY, MOBILE};
use crate::edits::But as _;

/// Whether data passes from end to end, in both directions.
fn is_left_alone(bench: &mut Bench) -> bool {
    bench.core(&fixed(1001, 0, 5001)).is_forwarded()
        && bench.core(&fixed(1001, 500, 5001)).is_forwarded()
        && bench.radio(&mobile(5001, 500, 1501)).is_forwarded()
        && bench.obligation() == Obligation::Free
}

#[test]
fn a_handshake_passes_and_then_the_agent_answers() {
    let mut bench = Bench::split();
    let step = bench.core(&fixed(1001, 500, 5001));
    assert!(!step.is_forwarded());
    assert_eq!(bench.obligation(), Obligation::Owes(500));
    bench.wait(300);
    bench.radio(&mobile(5001, 0, 1501));
    assert_eq!(bench.obligation(), Obligation::Free);
}

#[test]
fn a_refused_syn_passes_and_so_does_the_refusal() {
    let mut bench = Bench::new();
    assert!(bench.core(&syn()).is_forwarded());
    let refusal = mobile(0, 0, FIXED_ISS + 1).flags(TcpFlags::RST);
    assert!(bench.radio(&refusal).is_forwarded());
    assert!(is_left_alone(&mut bench), "nothing is known of the connection any more");
}

#[test]
fn a_syn_that_is_never_answered_passes_as_often_as_it_comes() {
    let mut bench = Bench::new();
    for _ in 0..6 {
        assert!(bench.core(&syn()).is_forwarded());
        assert!(bench.wait(1000).sent.is_empty());
    }
}

#[test]
fn a_connection_with_data_in_a_syn_is_left_alone() {
    let mut early = syn();
    early.set_payload(Payload::Stream { stream: 0, offset: 0, len: 10 });
    let mut bench = Bench::new();
    assert!(bench.core(&early).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded());
    assert!(is_left_alone(&mut bench));

    let mut early = answer();
    early.set_payload(Payload::Stream { stream: 1, offset: 0, len: 10 });
    let mut bench = Bench::new();
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.radio(&early).is_forwarded());
    assert!(is_left_alone(&mut bench));
}

#[test]
fn a_connection_that_negotiates_multipath_tcp_is_left_alone() {
    let mut bench = Bench::opened_with(Packet::unknown_option);
    assert!(is_left_alone(&mut bench));
}

#[test]
fn a_connection_whose_multipath_tcp_offer_is_declined_is_split() {
    let mut bench = Bench::new();
    assert!(bench.core(&syn().unknown_option()).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded());
    assert!(!is_left_alone(&mut bench));
}

/// With the bit next to CWR, which only packets in octets have.
fn with_ae(packet: &Packet, ae: u8) -> Packet {
    let mut octets = wire::emit(packet).to_vec();
    octets[32] |= ae;
    wire::parse(octets.into()).expect("a packet")
}

#[test]
fn a_connection_that_negotiates_accurate_ecn_is_left_alone() {
    let agrees = |flags: TcpFlags, ae: u8| {
        let mut bench = Bench::new();
        let offer = with_ae(&syn().flags(TcpFlags::ECE.with(TcpFlags::CWR)), 1);
        assert!(bench.core(&offer).is_forwarded());
        assert!(bench.radio(&with_ae(&answer().flags(flags), ae)).is_forwarded());
        is_left_alone(&mut bench)
    };
    // The three bits report the mark of the SYN (RFC 9768, table 2).
    assert!(agrees(TcpFlags::CWR, 0));
    assert!(agrees(TcpFlags::CWR.with(TcpFlags::ECE), 0) || agrees(TcpFlags::CWR, 1));
    assert!(agrees(TcpFlags::default(), 1));
    // Classic ECN, or none.
    assert!(!agrees(TcpFlags::ECE, 0));
    assert!(!agrees(TcpFlags::default(), 0));
}

#[test]
fn a_connection_between_two_stations_crosses_twice_and_is_left_alone() {
    let mut bench = Bench::new();
    // In from one station, and out again to the other.
    for packet in [syn(), answer(), fixed(1001, 0, 5001), fixed(1001, 500, 5001), mobile(5001, 500, 1501)] {
        assert!(bench.radio(&packet).is_forwarded(), "{packet:?}");
        assert!(bench.core(&packet).is_forwarded(), "{packet:?}");
    }
}

#[test]
fn a_handshake_on_the_ports_of_a_connection_that_is_split_leaves_both_alone() {
    let mut bench = Bench::split();
    let again =
        |packet: Packet, seq: u32, ack: u32| packet.but(|tcp| (tcp.seq, tcp.ack) = (Seq(seq), Seq(ack)));
    assert!(bench.core(&again(syn(), 900_000, 0)).is_forwarded());
    assert!(bench.radio(&again(answer(), 700_000, 900_001)).is_forwarded());
    let step = bench.core(&again(fixed(1001, 0, 0), 900_001, 700_001));
    assert!(step.is_forwarded());
    assert!(bench.core(&again(fixed(1001, 500, 0), 900_001, 700_001)).is_forwarded());
    assert!(bench.core(&fixed(1001, 500, 5001)).is_forwarded(), "if the handshake was forged");
}

#[test]
fn a_handshake_that_was_completed_unseen_is_left_alone() {
    // The agent forgets the answer, or was started after it.
    let mut bench = Bench::new();
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.core(&fixed(1001, 500, 5001)).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded(), "it comes again");
    assert!(bench.core(&fixed(1501, 0, 5001)).is_forwarded());
    assert!(is_left_alone(&mut bench), "500 octets have passed");

    let mut bench = Bench::new();
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.radio(&mobile(5001, 0, 1501)).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded());
    assert!(is_left_alone(&mut bench));

    let mut bench = Bench::new();
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded());
    assert!(bench.core(&fixed(1501, 0, 5001)).is_forwarded(), "500 octets may have passed");
    assert!(is_left_alone(&mut bench));
}

#[test]
fn a_late_copy_of_a_syn_does_not_harm_the_connection() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 1501));
    assert!(bench.obligation().is_free());
    bench.core(&syn());
    bench.radio(&mobile(5001, 500, 1501));
    bench.core(&fixed(1501, 0, 5501));
    assert!(bench.obligation().is_free());
}

#[test]
fn ports_and_addresses_are_those_of_the_ends() {
    let mut bench = Bench::split();
    let step = bench.core(&fixed(1001, 500, 5001));
    let keys: Vec<_> = step.sent.iter().filter_map(|(_, packet)| packet.flow_key()).collect();
    assert!(keys.iter().all(|key| *key == KEY || *key == KEY.reversed()), "{keys:?}");
    assert_eq!((KEY.source, KEY.destination), (FIXED, MOBILE));
    assert_eq!((FIXED_ISS, MOBILE_ISS), (1000, 5000));
}
