//! Tests of the clients' counters.

use std::time::Duration;

use lasthop_packet::TcpFlags;

use super::support::*;
use crate::clients::{ClientCounters, ClientReport};
use crate::plan::Plan;

fn counted(most: usize) -> Plan {
    Plan { max_clients: Some(most), ..plan(vec![rule("test", Watcher::default)]) }
}

/// The counters of the only client.
fn counters(bench: &Bench) -> ClientCounters {
    let clients = bench.engine.report().clients.expect("they are counted");
    let [ClientReport { counters, .. }] = clients.rows()[..] else { panic!("one client: {clients:?}") };
    counters
}

/// The values that are counters in Prometheus.
fn totals(counters: ClientCounters) -> Vec<u64> {
    let carried = counters.carried;
    let octets = [carried.octets_down, carried.octets_up, carried.packets_down, carried.packets_up];
    let hop = carried.hop.iter().map(|(_, count)| count);
    [counters.connections].into_iter().chain(octets).chain(hop).collect()
}

#[test]
fn no_counter_of_a_client_decreases_when_its_connections_end_or_the_plan_changes() {
    let mut bench = Bench::new(&counted(4));
    let mut before = vec![0; 12];
    let mut grow = |bench: &Bench, now: u64| {
        let counters = counters(bench);
        let totals = totals(counters);
        assert!(totals.iter().zip(&before).all(|(now, before)| now >= before), "{before:?}, then {totals:?}");
        assert_eq!(counters.connections_now, now);
        before = totals;
    };
    bench.shake_hands(1);
    grow(&bench, 1);
    for (seq, len) in [(1, 1000), (1001, 1000), (1, 1000)] {
        bench.on_core(&down(1, seq, len, ACK));
    }
    let carried = counters(&bench).carried;
    assert_eq!((carried.hop.segments_down, carried.hop.lost_down), (4, 1), "the SYN, and the segments");
    assert_eq!(carried.hop, bench.engine.report().hop, "there is no other client");
    grow(&bench, 1);
    bench.shake_hands(2);
    grow(&bench, 2);
    // Another connection between the same ports.
    bench.on_radio(&up(1, 0, 0, TcpFlags::RST));
    bench.on_radio(&up(1, 0, 0, TcpFlags::SYN));
    assert_eq!(counters(&bench).connections, 3);
    grow(&bench, 2);
    // Another plan, for fewer clients.
    bench.engine.reload(&counted(1), bench.now, &mut bench.out);
    grow(&bench, 2);
    // The connections expire.
    bench.later(Duration::from_secs(3600));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    grow(&bench, 0);
    bench.shake_hands(3);
    assert_eq!(counters(&bench).connections, 4);
    grow(&bench, 1);
}

#[test]
fn a_reload_starts_to_count_clients_with_existing_connections_and_stops_it() {
    let mut bench = Bench::new(&plan(vec![rule("test", Watcher::default)]));
    bench.shake_hands(1);
    assert_eq!(bench.engine.report().clients, None);
    for most in [2, 1] {
        bench.engine.reload(&counted(most), bench.now, &mut bench.out);
        bench.on_core(&down(1, 1, 1000, ACK));
        let counters = counters(&bench);
        assert_eq!((counters.connections, counters.connections_now), (1, 1));
        assert_eq!((counters.carried.packets_down, counters.carried.packets_up), (1, 0));
        bench.engine.reload(&plan(vec![rule("test", Watcher::default)]), bench.now, &mut bench.out);
        bench.on_core(&down(1, 1001, 1000, ACK));
        assert_eq!(bench.engine.report().clients, None);
    }
}
