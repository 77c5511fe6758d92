//! Faults that were found by properties, in minimal form.

use std::time::Duration;

use lasthop_agent::{Budget, Side, Verdict};
use lasthop_packet::{Seq, TcpFlags};

use super::super::bench::{Bench, answer, fixed, mobile, syn};
use crate::edits::But as _;

#[test]
fn without_memory_packets_of_a_connection_without_obligations_pass() {
    let mut bench = Bench::split();
    bench.seat.budget = Budget { octets_in_all: 0, ..Budget::default() };
    let step = bench.core(&fixed(1001, 500, 5001));
    assert!(step.is_forwarded() || !step.to(Side::Radio).is_empty(), "{:?}", step.verdict);
}

#[test]
fn without_memory_an_ack_with_data_still_counts() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.seat.budget = Budget { octets_in_all: 500, ..Budget::default() };
    bench.radio(&mobile(5001, 700, 1501));
    assert!(bench.obligation().is_free(), "{:?}", bench.obligation());
}

#[test]
fn simultaneous_open_is_left_alone_despite_a_repeated_syn() {
    let mut bench = Bench::new();
    let other = || mobile(5000, 0, 0).but(|tcp| tcp.flags = TcpFlags::SYN);
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.radio(&other()).is_forwarded());
    // Each answers the other's; one of the SYNs was duplicated or retransmitted.
    assert!(bench.core(&syn()).is_forwarded());
    assert!(bench.radio(&answer()).is_forwarded());
    assert!(bench.core(&fixed(1000, 0, 5001).flags(TcpFlags::SYN)).is_forwarded());
    // The fixed host has already received data, unseen by the agent.
    assert!(bench.core(&fixed(1001, 0, 5001)).is_forwarded());
    assert!(bench.core(&fixed(1001, 500, 5001)).is_forwarded());
}

#[test]
fn at_the_bound_the_segment_that_fills_the_hole_is_taken() {
    let mut bench = Bench::split();
    for segment in 0..10 {
        bench.core(&fixed(1501 + 1000 * segment, 1000, 5001));
    }
    bench.seat.budget = Budget { octets_per_flow: 8_000, ..Budget::default() };
    let step = bench.core(&fixed(1001, 500, 5001));
    assert!(
        !matches!(step.verdict, Some(Verdict::Drop(_))),
        "and so for ever: nothing is owed, nothing moves"
    );
}

#[test]
fn a_forged_syn_does_not_end_the_split() {
    let mut bench = Bench::split();
    assert!(bench.obligation().is_free());
    bench.core(&syn().but(|tcp| tcp.seq = Seq(77_777)));
    // The end challenges it (RFC 5961, section 4.2), and the connection continues.
    bench.radio(&mobile(5001, 0, 1001));
    assert!(!bench.core(&fixed(1001, 500, 5001)).is_forwarded());
}

#[test]
fn a_forged_handshake_does_not_break_a_connection() {
    let mut bench = Bench::split();
    bench.core(&syn().but(|tcp| tcp.seq = Seq(77_777)));
    bench.radio(&answer().but(|tcp| (tcp.seq, tcp.ack) = (Seq(88_888), Seq(77_778))));
    bench.core(&fixed(77_778, 0, 88_889));
    let step = bench.core(&fixed(1001, 500, 5001));
    let arrives = step.is_forwarded() || step.to(Side::Radio).iter().any(|line| line.contains("1001+500"));
    assert!(arrives, "{step:?}");
}

#[test]
fn a_syn_ack_repeated_after_a_move_is_the_ends_own() {
    let mut bench = Bench::new();
    let small =
        |packet: lasthop_packet::Packet| packet.but(|tcp| tcp.options.maximum_segment_size = Some(900));
    bench.core(&small(syn()));
    bench.radio(&small(answer()));
    // The ACK arrives above a hole, with a number that does not establish the leg.
    bench.core(&fixed(1001 + 70_000, 0, 5001));
    bench.seat.move_on(bench.now, Duration::ZERO).expect("it moves");
    let sent = bench.wait(5_000).sent;
    let sizes: Vec<_> = sent
        .iter()
        .filter_map(|(_, packet)| packet.tcp())
        .filter(|tcp| tcp.flags.has(TcpFlags::SYN))
        .map(|tcp| tcp.options.maximum_segment_size)
        .collect();
    assert!(sizes.iter().all(|size| *size == Some(900)), "{sizes:?}");
}
