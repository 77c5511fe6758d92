use std::path::Path;
use std::time::Duration;

use lasthop_scenario::{Overrides, Scenario, file};

use super::predict;
use crate::plan::cases;

const SCENARIO: &str = r#"
duration = "10 s"
seeds = 2
schemes = ["none", { scheme = "none", label = "small", tcp = { window = "8 KiB" } }]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
nodes.far.kind = "host"
nodes.other.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "20 ms" }
links.long = { between = ["far", "gateway"], rate = "100 Mbit/s", delay = "5 ms" }
wlans.cell = { standard = "802.11b", access-point = "gateway", stations = ["client", "other"] }
flows.beside = { from = "other", to = "far" }
flows.download = { from = "server", to = "client" }
flows.upload = { from = "client", to = "server" }
tcp = { window = "64 KiB", recovery = "sack", acks = "delayed" }
try = { congestion = ["cubic", "reno", "hybla"], duration = "10 s", settle = "2 s", simulated = ["far", "other"] }
"#;

fn scenario(text: &str) -> Scenario {
    file::parse(text, "prediction.toml", Path::new(""), &Overrides::default()).expect("a scenario")
}

fn of(scenario: &Scenario, flow: &str, congestion: &str, scheme: &str, seed: u64) -> Option<f64> {
    let mut cases = cases(scenario).into_iter();
    let case = cases.find(|case| {
        let of_case = &case.flows[0];
        (&*of_case.name, &*of_case.congestion, &*case.scheme, case.seed) == (flow, congestion, scheme, seed)
    });
    let predicted = predict(scenario, &case.expect("there is one"), None).expect("it can be built");
    predicted.map(|predicted| predicted.flows[0].goodput_bps)
}

#[test]
fn a_predicted_flow_runs_beside_the_background_and_without_other_flows() {
    let beside = scenario(SCENARIO);
    let alone = scenario(&SCENARIO.replace("flows.beside = { from = \"other\", to = \"far\" }\n", ""));
    for flow in ["download", "upload"] {
        let (beside, alone) = (of(&beside, flow, "cubic", "none", 1), of(&alone, flow, "cubic", "none", 1));
        let (beside, alone) = (beside.expect("it is there"), alone.expect("it is there"));
        assert!(alone > 4.0e6, "nothing but its own ACKs beside {flow}: {alone}");
        assert!(beside < 0.75 * alone, "{flow}: {beside} {alone}");
    }
}

#[test]
fn the_prediction_depends_on_congestion_control_seed_and_row() {
    let scenario = scenario(SCENARIO);
    let of = |congestion, scheme, seed| of(&scenario, "download", congestion, scheme, seed);
    assert_eq!(of("cubic", "none", 1), of("cubic", "none", 1));
    assert_ne!(of("cubic", "none", 1), of("cubic", "none", 2));
    assert_ne!(of("cubic", "none", 1), of("reno", "none", 1));
    assert_eq!(of("hybla", "none", 1), None, "the simulator has no Hybla");
    // A window of 8 KiB in a round trip of 40 ms and more.
    assert!(of("cubic", "small", 1).is_some_and(|goodput| goodput < 8192.0 * 8.0 / 0.040));
}

#[test]
fn the_awake_share_is_that_of_the_flows_own_host() {
    let stations = "stations = [\"client\", \"other\"]";
    let dozing = format!("{stations}, power-save = {{ stations = [\"client\"] }}");
    let dozing = scenario(&SCENARIO.replace(stations, &dozing));
    let awake = |scenario: &Scenario| {
        let case = cases(scenario).into_iter().find(|case| case.flows[0].name == "download");
        let predicted = predict(scenario, &case.expect("there is one"), None).expect("it can be built");
        predicted.expect("the simulator has CUBIC").flows[0].awake_share
    };
    assert!(awake(&dozing).is_some_and(|share| 0.0 < share && share <= 1.0));
    assert_eq!(awake(&scenario(SCENARIO)), None, "its host is not in power-save mode");
}

#[test]
fn a_file_includes_slow_start_and_an_endless_flow_excludes_the_settling_time() {
    let endless = scenario(SCENARIO);
    let file = scenario(&SCENARIO.replace("to = \"client\" }", "to = \"client\", size = \"200 kB\" }"));
    let endless = of(&endless, "download", "cubic", "small", 1).expect("it is there");
    let file = of(&file, "download", "cubic", "small", 1).expect("it is there");
    assert!(file < endless, "a file of a second or two has slow start in it: {file} {endless}");
}

#[test]
fn the_goodput_of_a_file_counts_from_the_established_connection() {
    // Seven segments, which fit into any initial window.
    let scenario = scenario(
        r#"
duration = "10 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "1 Gbit/s", delay = "20 ms" }
links.air = { kind = "wireless", between = ["gateway", "client"], rate = "20 Mbit/s", delay = "5 ms", queue = "128 kB" }
flows.download = { from = "server", to = "client", size = "10 kB" }
tcp.preset = "linux"
try = { congestion = ["cubic"], duration = "10 s", settle = "2 s" }
"#,
    );
    let goodput = of(&scenario, "download", "cubic", "none", 1).expect("it is there");
    let seconds = 80_000.0 / goodput;
    // One propagation delay, and seven segments with their headers over the hop, without the
    // handshake.
    let (way, octets) = (0.025, 10_000.0 + 7.0 * 52.0);
    assert!((way..way + 0.001).contains(&(seconds - octets * 8.0 / 20e6)), "{seconds} s");
}

#[test]
fn a_flow_that_starts_later_is_timed_from_its_start() {
    let early = scenario(SCENARIO);
    let late = scenario(&SCENARIO.replace("to = \"client\" }", "to = \"client\", start = \"9 s\" }"));
    let [early, late] = [&early, &late].map(|from| of(from, "download", "cubic", "small", 1));
    let ratio = late.expect("it is there") / early.expect("it is there");
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

const TOGETHER: &str = r#"
duration = "10 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "10 ms" }
links.air = { kind = "wireless", between = ["gateway", "client"], rate = "10 Mbit/s", delay = "1 ms", queue = "32 kB" }
flows.first = { from = "server", to = "client" }
flows.second = { from = "server", to = "client", start = "3 s", tcp = { congestion = "cubic" } }
tcp = { window = "1 MiB", recovery = "sack", acks = "delayed", congestion = "reno-abc", initial-ssthresh = "unlimited" }
try = { flows = "together", duration = "10 s", settle = "2 s" }
"#;

#[test]
fn flows_together_share_the_link_and_count_from_the_last_start() {
    let scenario = scenario(TOGETHER);
    let case = cases(&scenario).remove(0);
    let flows = predict(&scenario, &case, None).expect("it can be built").expect("it has both").flows;
    let [first, second] = &flows[..] else { panic!("two flows: {flows:?}") };
    let sum = first.goodput_bps + second.goodput_bps;
    assert!((8.0e6..10.0e6).contains(&sum), "the link, full: {sum}");
    assert!(first.goodput_bps > 1.0e6 && second.goodput_bps > 1.0e6, "{first:?} {second:?}");
}

#[test]
fn sampling_changes_nothing_and_starts_with_each_flow() {
    let scenario = scenario(TOGETHER);
    let case = cases(&scenario).remove(0);
    let every = Duration::from_millis(10);
    let [unseen, seen] = [None, Some(every)]
        .map(|every| predict(&scenario, &case, every).expect("it can be built").expect("it has both").flows);
    for (unseen, seen) in unseen.iter().zip(&seen) {
        assert_eq!(unseen.goodput_bps.to_bits(), seen.goodput_bps.to_bits());
        assert!(unseen.series.is_empty());
        assert!(seen.series.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(seen.series.iter().any(|sample| sample.cwnd > 10_000 && sample.srtt.is_some()));
        assert_eq!(seen.series[0].ssthresh, None, "no loss has set it yet");
        assert!(seen.series.last().is_some_and(|sample| sample.ssthresh.is_some()));
    }
    assert!(seen[0].series.len() > seen[1].series.len() + 200, "it started 3 s earlier");
    assert!(seen[1].series[0].at <= every);
}

#[test]
fn sessions_are_predicted_for_the_whole_run_with_the_control_of_the_run() {
    let sessions = r#"
sessions.call = { kind = "voice", between = ["client", "server"] }
sessions.pages = { kind = "web", client = "client", server = "server", think-time = "100 ms", object = "50 kB" }
"#;
    // Flows that complete early do not end the run.
    let text = TOGETHER.replace("to = \"client\"", "to = \"client\", size = \"10 kB\"");
    let mut scenario = scenario(&format!("{text}{sessions}"));
    let mut predicted = |congestion: &str| {
        scenario.trial.congestion = vec![congestion.to_owned()];
        let case = cases(&scenario).remove(0);
        predict(&scenario, &case, None).expect("it can be built").map(|predicted| predicted.sessions)
    };
    let of_cubic = predicted("cubic").expect("it has CUBIC");
    let [call, pages] = &of_cubic[..] else { panic!("two sessions: {of_cubic:?}") };
    assert_eq!(call.streams.len(), 2);
    for stream in &call.streams {
        // 10 s after the start of the second flow, 20 ms each.
        assert!((649..=650).contains(&stream.packets.sent) && stream.mos.is_some(), "{stream:?}");
    }
    assert!(pages.transactions.is_some_and(|pages| pages.completed > 5), "{pages:?}");
    assert_ne!(predicted("bbr").as_ref(), Some(&of_cubic));
    assert_eq!(predicted("hybla"), None);
}
