//! The window of a generated ACK.

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED};
use lasthop_packet::{Packet, Seq};

use super::super::Settings;
use super::bench::{Bench, WINDOW, phone, server};

/// The right edge of the window in an ACK.
fn edge(packet: &Packet) -> Seq {
    packet.tcp().map_or(Seq(0), |tcp| tcp.ack + u32::from(tcp.window))
}

/// The phone sends as much as it may. Returns its final position.
fn fill(bench: &mut Bench) -> (u32, Seq) {
    let (mut next, mut allowed) = (5001, Seq(5001) + u32::from(WINDOW));
    let mut rounds = 0;
    while (allowed - Seq(next)).cast_signed() >= 1000 && rounds < 10_000 {
        bench.phone(&phone(next, 1000, 1001));
        next += 1000;
        bench.air();
        for packet in bench.heard_packets() {
            allowed = allowed.later(edge(&packet));
        }
        rounds += 1;
    }
    bench.wait(200);
    for packet in bench.heard_packets() {
        allowed = allowed.later(edge(&packet));
    }
    (next, allowed)
}

#[test]
fn a_generated_window_has_the_right_edge_of_the_splits_last_ack() {
    let mut bench = Bench::split(Settings::default());
    // The window advertised when the connection was split.
    let allowed = Seq(5001) + u32::from(u16::MAX);
    for seq in (5001..15_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air_one();
        let delivered = bench.heard_packets();
        let edges: Vec<Seq> = delivered.iter().map(edge).collect();
        assert_eq!(edges, [allowed], "it said nothing since");
    }
    assert_eq!(bench.count(&ACKS_GENERATED), 10);
}

#[test]
fn a_stalled_server_closes_the_window_in_time_and_reopens_it() {
    let mut bench = Bench::split(Settings { buffer: 100_000, ..Settings::default() });
    let (stopped, allowed) = fill(&mut bench);
    assert!((stopped..stopped + 1000).contains(&allowed.0), "{stopped} {allowed}");
    assert!(stopped - 5001 <= 100_000 + u32::from(WINDOW), "{stopped}");
    assert_eq!(bench.obligation().octets(), u64::from(stopped - 5001), "all of it is there");
    // A probe of the closed window is not answered because of a MAC ACK.
    bench.phone(&phone(stopped, allowed - Seq(stopped), 1001));
    bench.air();
    let stopped = allowed.0;
    bench.forget();
    bench.phone(&phone(stopped, 1, 1001));
    bench.air();
    assert_eq!(bench.count(&ACKS_GENERATED), 0);
    assert!(bench.heard_packets().iter().all(|packet| edge(packet) == allowed), "it is closed");
    // The server continues.
    let mut acknowledged = 5001;
    while acknowledged < stopped {
        acknowledged += 1000;
        bench.server(&server(1001, 0, acknowledged));
        bench.air();
    }
    bench.wait(300);
    let opened = bench.heard_packets().iter().map(edge).fold(allowed, Seq::later);
    assert!(opened - allowed > 50_000, "{opened} {allowed}");
    assert_eq!(bench.count(&ACKNOWLEDGED_AND_LOST), 0);
}

#[test]
fn the_memory_budget_of_a_connection_bounds_its_window() {
    let mut bench = Bench::new(Settings::default());
    bench.budget.octets_per_flow = 300_000;
    bench.open(|packet| packet);
    let (stopped, allowed) = fill(&mut bench);
    assert!((stopped..stopped + 1000).contains(&allowed.0), "{stopped} {allowed}");
    assert_eq!(bench.obligation().octets(), u64::from(stopped - 5001), "all of it is there");
}
