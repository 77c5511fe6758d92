//! Tests with clocks that step. The gateway's own clock is monotonic and independent of the time of
//! day, but the engine accepts any clock.

use std::time::Duration;

use lasthop_agent::LinkSenses;

use super::support::*;
use crate::config;
use crate::engine::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn held_packets_are_sent_after_the_clock_stepped_back_or_forward() {
    let mut bench = Bench::with_agent(Keeper::default);
    bench.now = Instant::from_secs(2 * 3_600);
    bench.shake_hands(1);
    let start = bench.now;
    bench.on_core(&down(1, 1, 100, ACK));
    bench.now = Instant::from_secs(3_600);
    bench.on_core(&down(1, 101, 100, ACK));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    assert_eq!((bench.take().len(), bench.engine.report().held), (0, 2), "its time has not come");
    bench.now = start + Duration::from_secs(1);
    bench.engine.on_deadline(bench.now, &mut bench.out);
    assert_eq!((bench.take().len(), bench.engine.report().held), (2, 0), "and now it has");

    // By this clock, the connection was used an hour ago: it has expired, is seen in one direction
    // so far, and passes.
    assert_eq!(bench.on_core(&down(1, 201, 100, ACK)).len(), 1);
    bench.on_radio(&up(1, 301, 0, ACK));
    bench.on_core(&down(1, 301, 100, ACK));
    assert_eq!(bench.engine.report().held, 1);
    bench.later(5 * HOUR);
    bench.engine.on_deadline(bench.now, &mut bench.out);
    assert_eq!((bench.take().len(), bench.engine.report().held), (1, 0));
    let report = bench.engine.report();
    assert_eq!(
        (report.connections, report.counters.counts.unaddressed, report.agents.packets.panics),
        (0, 0, 0),
        "forgotten"
    );
}

#[test]
fn snoop_does_not_panic_with_a_stepping_clock_and_holds_no_packet_forever() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("an empty file is one").plan;
    let mut bench = Bench::new(&plan);
    bench.now = Instant::from_secs(100 * 3_600);
    let mut state = 1997_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for client in 1..=5 {
        bench.shake_hands(client);
    }
    for step in 0..20_000_u32 {
        let client = 1 + draw(5) as u16;
        match draw(4) {
            0 => drop(bench.on_radio(&up(client, 1 + (step / 4) * 1_000, 0, ACK))),
            _ => drop(bench.on_core(&down(client, 1 + (step / 4) * 1_000, 1_000, ACK))),
        }
        bench.now = match draw(200) {
            0 => Instant::from_secs(bench.now.as_nanos() / 1_000_000_000 - draw(3_600)),
            1 => bench.now + Duration::from_secs(draw(7_200)),
            _ => bench.now.after_nanos(draw(20_000_000)),
        };
        if bench.engine.deadline().is_some_and(|deadline| deadline <= bench.now) {
            bench.engine.on_deadline(bench.now, &mut bench.out);
            bench.take();
        }
    }
    bench.engine.drain(bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!(
        (report.held, report.agents.packets.panics, report.counters.passed.broken_agent),
        (0, 0, 0),
        "{report:?}"
    );
    assert!(report.connections <= 5 && report.agents.packets.seen > 10_000, "{report:?}");
}
