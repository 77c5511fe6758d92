//! Clients of the kernel's Wi-Fi that roam, and stations that save power.

use serde_json::Value;

use crate::{document, kernel, of_text, output, try_scenario};

pub fn a_client_walks_from_one_access_point_to_another_with_its_connection() {
    let document = document(&output(&mut try_scenario(
        "try-roaming.toml",
        &kernel(),
        &[
            "--json",
            "--set",
            "wlans.corridor.standard=802.11g",
            "--set",
            "wlans.corridor.roaming.channels=[1, 6]",
            "--set",
            "duration=17 s",
            "--set",
            "try.duration=15 s",
            "--flows",
            "download",
            "--schemes",
            "none,snoop",
        ],
    )));
    let runs = document["roaming_runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for (run, gateways) in runs.iter().zip([0, 2]) {
        let hand_off = &run["hand_offs"][0];
        println!("{}: {hand_off}, predicted {}", run["scheme"], run["predicted_hand_offs"][0]);
        assert_eq!((&hand_off["from"], &hand_off["to"]), (&"ap-1".into(), &"ap-2".into()), "{run}");
        let seconds = |hand_off: &Value, key: &str| hand_off[key].as_f64().expect("seconds");
        let (gap, predicted) =
            (seconds(hand_off, "radio_gap_s"), seconds(&run["predicted_hand_offs"][0], "radio_gap_s"));
        assert!((gap / predicted - 1.0).abs() < 0.5, "{gap} s, predicted {predicted} s");
        // With gateways, it lasts until the next one has the state of the connection.
        let whole = seconds(hand_off, "interruption_s");
        let until_served = whole - gap;
        let expected = if gateways == 0 { 0.0..f64::EPSILON } else { f64::EPSILON..0.5 };
        assert!(expected.contains(&until_served), "{hand_off}");
        assert_eq!(run["gateways"].as_array().map(Vec::len), Some(gateways));
        assert_eq!((&run["connections_lost"], &run["corrupted"]), (&0.into(), &0.into()));
    }
    for run in document["runs"].as_array().expect("runs") {
        assert!(run["goodput_bps"].as_f64().expect("a number") > 2e6, "{run}");
    }
}

pub fn a_station_that_saves_power_dozes_between_pages() {
    let scenario = r#"
duration = "22 s"
seeds = 1
schemes = ["none"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.phone.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "20 ms" }
wlans.cell = { standard = "802.11b", access-point = "gateway", stations = ["phone"], power-save = {} }
sessions.browsing = { kind = "web", client = "phone", server = "server", think-time = "3 s" }
try = { congestion = ["cubic"], duration = "20 s", settle = "1 s" }
tcp = { preset = "linux" }
"#;
    let document = document(&of_text(scenario));
    let run = &document["session_runs"][0];
    let (pages, phone) = (&run["real"]["transactions"], &run["stations"][1]);
    println!("{} pages; {phone}", pages["completed"]);
    assert!(pages["completed"].as_u64() > Some(2) && pages["failed"] == 0, "{pages}");
    let awake = phone["awake_share"].as_f64().expect("it saves power");
    // The latency probe wakes it for a tenth of a second, five times in a second at most.
    assert!((0.2..0.95).contains(&awake), "{awake}");
    assert_eq!(run["stations"][0]["awake_share"], Value::Null);
}
