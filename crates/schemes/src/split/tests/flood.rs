//! Floods of SYNs.

use lasthop_agent::Side;
use lasthop_packet::{Packet, Seq};

use super::bench::{Bench, answer, fixed, mobile, syn};
use crate::edits::But as _;

/// From as many ports and initial numbers.
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
fn a_hundred_thousand_syns_take_bounded_memory_and_other_connections_go_on() {
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
