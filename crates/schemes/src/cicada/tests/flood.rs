//! Floods of SYNs.

use lasthop_agent::{Accounts, Scope, Side, Transfer};
use lasthop_packet::{Packet, Seq};

use super::bench::{Bench, answer, fixed, mobile, syn};
use crate::edits::But as _;

/// SYNs from this number of ports, with different initial numbers.
fn syns(count: u32) -> impl Iterator<Item = Packet> {
    (0..count).map(|number| {
        syn().but(|tcp| {
            tcp.source_port = (number % 60_000) as u16 + 2;
            tcp.destination_port = (number / 60_000) as u16 + 80;
            tcp.seq = Seq(number.wrapping_mul(2_654_435_761));
        })
    })
}

#[test]
fn a_hundred_thousand_syns_take_bounded_memory_and_other_connections_continue() {
    let mut bench = Bench::split();
    let before = allocation_counter::measure(|| {
        for syn in syns(100_000) {
            assert!(bench.core(&syn).is_forwarded());
        }
    });
    assert!(before.bytes_current < 16 << 20, "{before:?}");
    let step = bench.core(&fixed(1001, 500, 5001));
    assert_eq!(step.to(Side::Radio), ["A 1001+500 ack 5001"]);
    bench.radio(&mobile(5001, 0, 1501));
    assert!(bench.obligation().is_free());
}

fn reported(bench: &Bench) -> usize {
    bench.seat.agent.as_ref().map_or(0, Accounts::octets)
}

#[test]
fn handshakes_take_at_most_the_reported_memory_and_a_quarter_of_the_budget() {
    for octets_in_all in [1 << 20, 64 << 20] {
        let mut bench = Bench::new();
        bench.seat.budget.octets_in_all = octets_in_all;
        let allocated = allocation_counter::measure(|| {
            for syn in syns(20_000) {
                bench.core(&syn.unknown_option());
                assert!(reported(&bench) <= octets_in_all / 4);
            }
        });
        let (allocated, reported) = (allocated.bytes_current.max(0) as usize, reported(&bench));
        assert!(allocated <= reported, "{allocated} octets allocated, {reported} reported");
    }
}

#[test]
fn connections_and_handshakes_share_one_memory_budget() {
    let mut bench = Bench::split();
    bench.seat.budget.octets_in_all = 40_000;
    for number in 0..20 {
        bench.core(&fixed(1001 + 1448 * number, 1448, 5001));
    }
    for syn in syns(1000) {
        bench.core(&syn);
        assert!(reported(&bench) <= 40_000, "{} octets", reported(&bench));
    }
    assert!(reported(&bench) > 30_000, "the flood has found the rest");
    for number in 20..100 {
        bench.core(&fixed(1001 + 1448 * number, 1448, 5001));
        assert!(reported(&bench) <= 40_000, "{} octets", reported(&bench));
    }
}

#[test]
fn an_unanswered_handshake_is_forgotten_unless_its_syns_continue() {
    let mut bench = Bench::new();
    bench.core(&syn());
    // Linux sends the last SYN after 63 s, and gives up after 127 s (`tcp_syn_retries`).
    for seconds in [1, 2, 4, 8, 16, 32] {
        bench.wait(seconds * 1000);
        bench.core(&syn());
    }
    bench.wait(64_000);
    bench.radio(&answer());
    bench.wait(127_000);
    assert!(reported(&bench) > 0);
    bench.wait(1_000);
    assert_eq!((reported(&bench), bench.seat.deadline()), (0, None));
    // Its connection passes.
    assert!(bench.core(&fixed(1001, 0, 5001)).is_forwarded());
}

#[test]
fn a_handshake_whose_last_syn_is_answered_late_is_split() {
    let mut bench = Bench::new();
    bench.core(&syn());
    bench.wait(64_000);
    bench.radio(&answer());
    assert!(!bench.core(&fixed(1001, 0, 5001)).is_forwarded());
    assert_eq!(reported(&bench), reported(&Bench::split()), "a handshake that is complete takes no memory");
}

#[test]
fn a_connection_that_opens_during_a_flood_is_split() {
    let mut bench = Bench::new();
    for syn in syns(100_000) {
        assert!(bench.core(&syn).is_forwarded());
    }
    bench.wait(1000);
    bench.core(&syn());
    bench.radio(&answer());
    assert!(!bench.core(&fixed(1001, 0, 5001)).is_forwarded());
}

#[test]
fn handshakes_of_a_flood_are_forgotten_when_others_need_the_room() {
    let mut bench = Bench::new();
    for syn in syns(100_000) {
        bench.core(&syn);
    }
    bench.wait(11_000);
    bench.core(&syn());
    bench.radio(&answer());
    assert!(!bench.core(&fixed(1001, 0, 5001)).is_forwarded());
}

#[test]
fn a_connection_after_a_flood_is_split_despite_a_smaller_budget() {
    let mut bench = Bench::new();
    for syn in syns(20_000) {
        bench.core(&syn);
    }
    bench.seat.budget.octets_in_all /= 64;
    bench.wait(11_000);
    bench.core(&syn());
    bench.radio(&answer());
    assert!(!bench.core(&fixed(1001, 0, 5001)).is_forwarded());
    assert!(reported(&bench) <= bench.seat.budget.octets_in_all, "{} octets", reported(&bench));
}

#[test]
fn an_idle_connection_is_evicted_after_its_grace_asleep_or_not() {
    let mut bench = Bench::split();
    bench.seat.budget.flows = 1;
    bench.wait(15_000);
    let other = |packet: Packet| {
        packet.but(|tcp| {
            let port = if tcp.source_port == syn().tcp().map_or(0, |tcp| tcp.source_port) {
                &mut tcp.source_port
            } else {
                &mut tcp.destination_port
            };
            *port = 4711;
        })
    };
    bench.core(&other(syn()));
    bench.radio(&other(answer()));
    assert!(!bench.core(&other(fixed(1001, 0, 5001))).is_forwarded());
}

#[test]
fn handshakes_of_connections_that_move_to_another_agent_are_forgotten() {
    let mut bench = Bench::new();
    bench.core(&syn());
    assert!(reported(&bench) > 0);
    let states = bench.seat.call(bench.now, |agent, cx| agent.export(Scope::All, cx));
    assert_eq!(states.map(|(states, _)| states.len()), Some(0), "its connection passes");
    assert_eq!(reported(&bench), 0);
}
