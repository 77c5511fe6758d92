//! Timestamps that must be ignored.

use lasthop_agent::Side;
use lasthop_packet::{Packet, TcpFlags};

use super::bench::{Bench, fixed, mobile};
use crate::edits::But as _;

#[test]
fn the_timestamp_of_a_dropped_segment_is_not_recorded() {
    for forge in [
        (|p: Packet| p.but(|tcp| tcp.flags = TcpFlags(0))) as fn(Packet) -> Packet,
        |p| p.but(|tcp| tcp.ack += 1 << 29),
        |p| p.but(|tcp| tcp.flags = TcpFlags::SYN),
    ] {
        let mut bench = Bench::opened_with(|syn| syn.stamped(1000, 0));
        bench.core(&fixed(1001, 0, 5001).stamped(1000, 1000));
        bench.core(&fixed(1001, 500, 5001).stamped(1001, 1000));
        bench.radio(&mobile(5001, 0, 1501).stamped(1001, 1001));
        // An attacker knows neither the acknowledgment number nor the clock.
        bench.wait(1000);
        bench.core(&fixed(1501, 500, 5001).stamped(1002, 1000));
        bench.radio(&forge(mobile(4000, 1460, 1501)).stamped(1 << 30, 0));
        let step = bench.radio(&mobile(5001, 500, 1501).stamped(1003, 1001));
        let echoes: Vec<Option<u32>> = step
            .sent
            .iter()
            .filter(|(to, _)| *to == Side::Core)
            .map(|(_, p)| p.tcp().unwrap().options.timestamps.map(|t| t.value))
            .collect();
        assert_eq!(step.to(Side::Core), ["A 5001+500 ack 2001"], "{echoes:?}");
        assert_eq!(echoes, [Some(1003)]);
    }
}

#[test]
fn after_an_idle_time_the_clock_may_have_wrapped() {
    // RFC 7323, section 5.5; a clock of microseconds (Linux 6.7) wraps in 36 minutes.
    let mut bench = Bench::opened_with(|syn| syn.stamped(1000, 0));
    bench.core(&fixed(1001, 0, 5001).stamped(1000, 1000));
    bench.core(&fixed(1001, 500, 5001).stamped(1001, 1000));
    bench.radio(&mobile(5001, 0, 1501).stamped(1001, 1001));
    bench.wait(37 * 60 * 1000);
    let later = 1001u32.wrapping_add(37 * 60 * 1_000_000);
    let step = bench.core(&fixed(1501, 500, 5001).stamped(later, 1001));
    assert_eq!(step.to(Side::Radio), ["A 1501+500 ack 5001"], "{:?}", step.to(Side::Core));
}
