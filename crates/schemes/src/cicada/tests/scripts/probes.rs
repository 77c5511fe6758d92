//! Keep-alive probes (RFC 9293, section 3.8.4).

use lasthop_agent::Side;
use lasthop_packet::Packet;

use super::super::bench::{Bench, answer, fixed, mobile, syn};
use crate::edits::But as _;

/// A connection with timestamps on which data was sent and acknowledged.
fn used() -> Bench {
    let mut bench = Bench::new();
    bench.core(&syn().stamped(100, 0));
    bench.radio(&answer().stamped(900, 100));
    bench.core(&fixed(1001, 500, 5001).stamped(110, 900));
    bench.radio(&mobile(5001, 0, 1501).stamped(910, 110));
    assert!(bench.obligation().is_free());
    bench
}

#[test]
fn a_probe_is_answered_by_the_probed_end() {
    let mut bench = used();
    for probe in [fixed(1500, 0, 5001), fixed(1500, 1, 5001)] {
        let step = bench.core(&probe.stamped(120, 910));
        assert!(step.is_forwarded() && step.sent.is_empty(), "{step:?}");
        let step = bench.radio(&mobile(5001, 0, 1501).stamped(920, 120));
        assert!(step.is_forwarded() && step.sent.is_empty(), "{step:?}");
    }
}

#[test]
fn a_probe_of_an_end_that_is_gone_is_not_answered() {
    let mut bench = used();
    for _ in 0..9 {
        assert!(bench.core(&fixed(1500, 0, 5001).stamped(120, 910)).is_forwarded());
        assert!(bench.wait(75_000).to(Side::Core).is_empty());
    }
}

#[test]
fn the_reset_that_answers_a_probe_reaches_the_prober() {
    let mut bench = used();
    assert!(bench.core(&fixed(1500, 0, 5001).stamped(120, 910)).is_forwarded());
    let reset = mobile(5001, 0, 0).but(|tcp| tcp.flags = lasthop_packet::TcpFlags::RST);
    let step = bench.radio(&reset);
    assert_eq!(step.to(Side::Core).len() + usize::from(step.is_forwarded()), 1, "{step:?}");
}

fn stamp(packet: &Packet) -> Option<u32> {
    Some(packet.tcp()?.options.timestamps?.value)
}

#[test]
fn the_agents_timestamps_are_no_older_than_a_probe_answer_that_passed() {
    let mut bench = used();
    bench.core(&fixed(1500, 0, 5001).stamped(120, 910));
    let answered = bench.radio(&mobile(5001, 0, 1501).stamped(5_000, 120));
    assert!(answered.is_forwarded());
    // The fixed host has seen 5000: PAWS would reject anything older.
    let mut sent = bench.core(&fixed(1501, 500, 5001).stamped(130, 5_000)).sent;
    sent.extend(bench.wait(500).sent);
    let stamps: Vec<u32> =
        sent.iter().filter(|(to, _)| *to == Side::Core).filter_map(|(_, packet)| stamp(packet)).collect();
    assert!(stamps.iter().all(|value| *value >= 5_000), "{stamps:?}");
}

#[test]
fn the_agents_timestamps_are_no_older_than_a_second_syn_ack() {
    let mut bench = Bench::new();
    bench.core(&syn().stamped(100, 0));
    bench.radio(&answer().stamped(900, 100));
    bench.wait(1000);
    assert!(bench.radio(&answer().stamped(1900, 100)).is_forwarded());
    let mut sent = bench.core(&fixed(1001, 500, 5001).stamped(1110, 1900)).sent;
    sent.extend(bench.wait(500).sent);
    let stamps: Vec<u32> =
        sent.iter().filter(|(to, _)| *to == Side::Core).filter_map(|(_, packet)| stamp(packet)).collect();
    assert!(!stamps.is_empty() && stamps.iter().all(|value| *value >= 1_900), "{stamps:?}");
}
