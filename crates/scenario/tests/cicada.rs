//! CICADA's calls from end to end: the packets that the access point gives up.

mod on_air;

use std::path::Path;

use lasthop_scenario::{Overrides, Scenario, file};
use lasthop_schemes::cicada::{LATE, MISSED, SAMPLES};
use lasthop_sim::DropCause;
use on_air::Run;

/// A call over a wire of 15 ms and a hop of 2 Mbit/s.
const CALL: &str = r#"
description = "A call."
duration = "60 s"
stop-when-done = false
seeds = 1
schemes = ["none"]
[nodes.server]
kind = "host"
[nodes.access-point]
kind = "router"
[nodes.phone]
kind = "host"
[links.wire]
between = ["server", "access-point"]
rate = "100 Mbit/s"
delay = "15 ms"
[links.air]
kind = "wireless"
between = ["access-point", "phone"]
rate = "2 Mbit/s"
delay = "2 ms"
queue = "100 packets"
link-layer = { kind = "none" }
[sessions.call]
kind = "voice"
between = ["phone", "server"]
"#;

/// From 20 s on, a delay spike on the wire each second: 300 ms for `millis` milliseconds.
fn spikes(millis: u32, order: &str) -> String {
    let change = |at: f64, delay: &str| {
        format!("[[changes]]\nat = \"{at:.3} s\"\nset = {{ \"links.wire.delay\" = {delay} }}\n")
    };
    let spike = |second: u32| {
        let at = f64::from(second);
        change(at, "\"300 ms\"") + &change(at + f64::from(millis) / 1000.0, "\"15 ms\"")
    };
    let first = format!("[[changes]]\nat = \"1 s\"\nset = {{ \"links.wire.order\" = \"{order}\" }}\n");
    first + &(20..40).map(spike).collect::<String>()
}

/// Bursts of datagrams from the server that fill the queue of the hop, from 20 s on.
const BURSTS: &str = r#"
[flows.bursts]
transport = "udp"
from = "server"
to = "phone"
start = "20 s"
application = { kind = "on-off", rate = "2.1 Mbit/s", message = "1000 B", on = { mean = "2 s" }, off = { mean = "3 s" } }
"#;

const DOWNLOAD: &str = r#"
[flows.download]
from = "server"
to = "phone"
start = "1 s"
"#;

fn scenario(more: &str) -> Scenario {
    file::parse(&format!("{CALL}{more}"), "call.toml", Path::new("."), &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn late_of(run: &Run) -> u64 {
    let late = run.accounts.dropped.iter().filter(|(cause, _)| **cause == DropCause::Agent(&LATE));
    late.map(|(_, count)| *count).sum()
}

fn late(more: &str, settings: &str) -> u64 {
    late_of(&Run::new(&scenario(more), "cicada", settings))
}

#[test]
fn a_call_on_a_constant_path_loses_nothing() {
    let run = Run::new(&scenario(DOWNLOAD), "cicada", "");
    assert_eq!((late_of(&run), run.reported.get(&MISSED)), (0, 0));
    assert!(run.reported.get(&SAMPLES) > 100);
}

#[test]
fn packets_delayed_by_a_spike_on_the_wire_are_given_up_in_order_or_overtaken() {
    for order in ["kept", "overtake"] {
        let given_up = late(&spikes(100, order), "");
        // Twenty spikes with five packets each; in order, later packets wait for them.
        assert!((60..=400).contains(&given_up), "{order}: {given_up}");
    }
}

#[test]
fn the_sampling_interval_determines_how_long_packets_are_given_up() {
    let of = |interval: &str| {
        let settings = format!("sampling-interval = \"{interval}\"");
        late(&spikes(600, "overtake"), &settings)
    };
    let [short, usual, long] = ["60 ms", "200 ms", "500 ms"].map(of);
    assert!(short < usual && usual < long, "{short} {usual} {long}");
}

#[test]
fn the_queue_on_the_hop_counts_as_delay_if_a_connection_shows_it() {
    let beside = late(&format!("{BURSTS}{DOWNLOAD}"), "");
    let (without, patient) = (late(BURSTS, ""), late(&format!("{BURSTS}{DOWNLOAD}"), "call-delay = \"1 s\""));
    assert!(beside > 20, "{beside}");
    assert_eq!((without, patient), (0, 0), "nothing shows the queue, or the receiver can wait");
}
