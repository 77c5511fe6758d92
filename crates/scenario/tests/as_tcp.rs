//! AS-TCP from end to end: uploads through an access point, and the packets on the air for them.

mod on_air;

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED, AT_BOUND, LOCAL_RETRANSMITS};
use lasthop_scenario::Scenario;
use lasthop_schemes::Role;

use on_air::Run;

const ACCESS_POINT: usize = 2;
const STATION: usize = 3;

/// Three stations upload 1 MB each; `settings` in the form of `--set`.
fn uploads(settings: &[&str]) -> Scenario {
    let settings = [&["nodes.station.count=3", "flows.up.size=1 MB", "duration=120 s"], settings].concat();
    on_air::scenario("uploads.toml", &settings)
}

fn run(scenario: &Scenario, settings: &str) -> Run {
    let run = Run::new(scenario, "as-tcp", settings);
    run.assert_everything_arrived();
    assert_eq!(
        (run.reported.get(&ACKNOWLEDGED_AND_LOST), run.reported.get(&AT_BOUND)),
        (0, 0),
        "{:?}",
        run.reported
    );
    run
}

#[test]
fn mac_acks_become_tcp_acks_and_the_access_point_hardly_sends_any() {
    let scenario = uploads(&[]);
    let plain = Run::new(&scenario, "none", "");
    plain.assert_everything_arrived();
    for settings in ["", "preset = \"published\""] {
        let run = run(&scenario, settings);
        assert!(run.air[ACCESS_POINT] * 8 < plain.air[ACCESS_POINT], "{:?} {:?}", run.air, plain.air);
        assert!(run.seconds() < plain.seconds(), "{} {}", run.seconds(), plain.seconds());
        assert!(run.reported.get(&ACKS_GENERATED) > 2000, "{:?}", run.reported);
    }
}

/// Between the handshake and the FIN the access point's MAC sends nothing, with or without frames
/// that are given up, and at each place of the split.
#[test]
fn as_published_no_ack_of_data_crosses_the_air() {
    let lossy = "wlans.cell.errors={ packet-error-rate = \"40%\" }";
    for (cell, settings) in [
        ("wlans.cell.queue=1000 packets", ""),
        (lossy, ""),
        ("tcp={ preset = \"linux\" }", ""),
        (lossy, "split-at = \"router\""),
    ] {
        let scenario = uploads(&[cell, "duration=400 s"]);
        let run = run(&scenario, &format!("preset = \"published\"\n{settings}"));
        // Each of the three stations gets a SYN-ACK, a FIN, the ACK of its FIN, and window updates.
        assert!(run.air[ACCESS_POINT] <= 3 * 10, "{cell} {settings}: {:?}", run.air);
        assert!(run.air[STATION..].iter().all(|frames| *frames > 600), "{:?}", run.air);
    }
}

#[test]
fn with_acks_on_the_air_a_host_still_makes_its_own() {
    let scenario = uploads(&[]);
    let plain = Run::new(&scenario, "none", "");
    let run = run(&scenario, "acks-on-air = true");
    // The split acknowledges every second segment, and none of these ACKs is suppressed.
    assert!(run.air[ACCESS_POINT] * 3 > plain.air[ACCESS_POINT], "{:?} {:?}", run.air, plain.air);
    assert!(run.reported.get(&ACKS_GENERATED) > 2000, "{:?}", run.reported);
}

#[test]
fn in_a_full_cell_late_acks_of_the_split_cause_few_retransmissions() {
    let scenario = uploads(&["nodes.station.count=40", "flows.up.size=200 kB"]);
    let run = run(&scenario, "");
    let (copies, made) = (run.reported.get(&LOCAL_RETRANSMITS), run.reported.get(&ACKS_GENERATED));
    assert!(copies * 20 < made, "{copies} copies, {made} ACKs made");
}

#[test]
fn a_split_at_the_router_repairs_losses_before_it() {
    let scenario = uploads(&["links.near.loss=1%"]);
    let run = run(&scenario, "split-at = \"router\"");
    assert!(run.reported.get(&ACKS_GENERATED) > 2000, "{:?}", run.reported);
}

#[test]
fn without_a_half_at_the_station_it_is_a_split_and_at_the_access_point_plain_tcp() {
    let mut scenario = uploads(&[]);
    scenario.nodes[STATION..].iter_mut().for_each(|node| node.role = Some(Role::FixedHost));
    let split = run(&scenario, "");
    assert_eq!(split.reported.get(&ACKS_GENERATED), 0);
    let mut scenario = uploads(&[]);
    scenario.nodes[ACCESS_POINT].role = Some(Role::FixedHost);
    let plain = run(&scenario, "");
    assert_eq!(plain.reported.get(&ACKS_GENERATED), 0);
}

#[test]
fn a_wire_slower_than_the_hop_limits_stations_by_windows_or_by_refusal() {
    let slow = ["links.far.rate=1 Mbit/s", "links.far.queue=20 packets", "duration=300 s"];
    let scenario = uploads(&slow);
    for settings in ["buffer = \"64 KiB\"", "preset = \"published\"", "refuse-above = \"3 kB\""] {
        let run = run(&scenario, settings);
        let is_refusing = settings != "buffer = \"64 KiB\"";
        assert_eq!(run.counters.frames_lost > 500, is_refusing, "{settings}: {:?}", run.counters);
    }
}

#[test]
fn frames_that_the_mac_gives_up_and_losses_on_the_wire_leave_the_streams_intact() {
    let lossy = [
        "wlans.cell.errors={ packet-error-rate = \"40%\", control-frames = true }",
        "links.far.loss=1%",
        "duration=600 s",
    ];
    let scenario = uploads(&lossy);
    for settings in ["", "preset = \"published\"", "acks-on-air = true", "split-at = \"router\""] {
        let run = run(&scenario, settings);
        assert!(run.counters.frames_given_up > 0, "{:?}", run.counters);
    }
}

/// The access point has room for five packets of a dozing host: most of each window is lost there,
/// and the shortest round trip includes the time for which the host dozes.
#[test]
fn a_download_to_a_dozing_host_never_waits_for_minutes() {
    let scenario = uploads(&[
        "nodes.station.count=1",
        "flows.up.from=sink",
        "flows.up.to=station-1",
        "duration=400 s",
        "wlans.cell.power-save={ beacon-interval = \"100 ms\", buffer = \"5 packets\" }",
    ]);
    let run = Run::new(&scenario, "as-tcp", "");
    run.assert_everything_arrived();
    assert!(run.seconds() < 150.0, "{}", run.seconds());
}

/// The access point has room for 64 packets. No MAC reports the fate of a dropped one, and the
/// host's own ACKs wait for its PS-Polls.
#[test]
fn a_long_download_to_a_dozing_host_is_faster_than_plain_tcp_and_repeats_little() {
    let scenario = uploads(&[
        "nodes.station.count=1",
        "flows.up.from=sink",
        "flows.up.to=station-1",
        "flows.up.size=5 MB",
        "tcp={ preset = \"linux\" }",
        "wlans.cell.power-save={ beacon-interval = \"100 ms\" }",
    ]);
    let plain = Run::new(&scenario, "none", "");
    let [run, without] = ["", "selective-acks = false"].map(|settings| run(&scenario, settings));
    assert!(run.seconds() < plain.seconds(), "{} {}", run.seconds(), plain.seconds());
    let copies = [&run, &without].map(|run| run.reported.get(&LOCAL_RETRANSMITS));
    let segments = 5_000_000 / 1448;
    assert!(copies[0] > 0 && copies[0] * 20 < segments && copies[0] * 5 < copies[1], "{copies:?}");
}

#[test]
fn data_in_both_directions_arrives() {
    let mut scenario = uploads(&[]);
    let downloads: Vec<_> = scenario
        .flows
        .iter()
        .map(|upload| {
            let mut download = upload.clone();
            (download.name, download.from, download.to) =
                (format!("{}-back", upload.name), upload.to, upload.from);
            download
        })
        .collect();
    scenario.flows.extend(downloads);
    for settings in ["", "preset = \"published\"", "split-at = \"router\""] {
        run(&scenario, settings);
    }
}
