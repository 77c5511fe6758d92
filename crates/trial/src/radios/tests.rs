use std::path::Path;

use lasthop_scenario::{Overrides, file};

use super::*;

const CELL: &str = r#"
duration = "10 s"
seeds = 1
schemes = ["none", "snoop"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.near.kind = "host"
nodes.far.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "10 ms" }
wlans.cell = { standard = "802.11g", access-point = "gateway", stations = ["near", "far"] }
flows.first = { from = "server", to = "near" }
try = { congestion = ["cubic"], duration = "4 s" }
tcp = { preset = "linux" }
"#;

fn scenario(change: (&str, &str)) -> Scenario {
    assert!(CELL.contains(change.0), "{change:?}");
    let text = CELL.replace(change.0, change.1);
    file::parse(&text, "cell.toml", Path::new(""), &Overrides::default()).expect("a scenario")
}

fn refusal(change: (&str, &str)) -> Option<String> {
    check(&scenario(change)).err().map(|error| error.to_string())
}

#[test]
fn each_station_is_a_radio_and_all_links_of_the_access_point_lead_through_one() {
    let scenario = scenario(("", ""));
    let radios = Radios::of_kernel(&scenario);
    let at: Vec<_> = radios.of_hosts().iter().map(|radio| (radio.station, radio.node)).collect();
    assert_eq!(at, [(0, 1), (1, 2), (2, 3)]);
    let of_gateway: Vec<_> =
        scenario.links.iter().map(|link| radios.of(link, 1).map(Radio::device)).collect();
    let device = Some("wlan.0".to_owned());
    assert_eq!(of_gateway, [None, device.clone(), device], "the wire, and both stations");
}

#[test]
fn cells_that_the_kernels_radios_cannot_be_in_are_refused_with_their_key() {
    assert_eq!(refusal(("", "")), None);
    for (change, expected) in [
        (("802.11g", "802.11a"), "802.11b and 802.11g"),
        (("\"far\"] }", "\"far\"], short-retry-limit = 2 }"), "retry limits"),
        (("access-point = \"gateway\", stations = [", "stations = [\"gateway\", "), "no access point"),
        (
            ("duration = \"4 s\"", "duration = \"4 s\", simulated = [\"gateway\", \"far\"]"),
            "its access point \"gateway\" is simulated",
        ),
        (("\"far\"] }", "\"far\"], power-save = { listen-interval = 3 } }"), "power-save"),
        (("\"far\"] }", "\"far\"], power-save = { beacon-interval = \"5 ms\" } }"), "10 to 10000 time units"),
    ] {
        let message = refusal(change).unwrap_or_default();
        assert!(message.starts_with("wlans.cell: ") && message.contains(expected), "{change:?}: {message}");
        assert!(message.ends_with("; change this, or use --wifi model"), "{message}");
    }
}

#[test]
fn a_simulated_station_is_beside_the_kernels_radios_if_its_mac_can_be_as_simple() {
    let with = |other: (&str, &str)| {
        let text = CELL.replace("duration = \"4 s\"", "duration = \"4 s\", simulated = [\"far\"]");
        assert!(text.contains(other.0), "{other:?}");
        let text = text.replace(other.0, other.1);
        file::parse(&text, "cell.toml", Path::new(""), &Overrides::default()).expect("a scenario")
    };
    let scenario = with(("", ""));
    assert!(check(&scenario).is_ok());
    let radios = Radios::of_kernel(&scenario);
    let of = |radios: &[Radio]| radios.iter().map(|radio| radio.node).collect::<Vec<_>>();
    assert_eq!((of(radios.of_hosts()), of(radios.simulated())), (vec![1, 2], vec![3]));
    for (change, expected) in [
        (
            ("\"near\", \"far\"] }", "\"near\", \"far\"], power-save = { stations = [\"far\"] } }"),
            "saves power",
        ),
        (("nodes.far.kind = \"host\"", "nodes.far.kind = \"router\""), "is a router"),
        (("\"snoop\"", "\"lle-tcp\""), "\"lle-tcp\" has an agent at the simulated station \"far\""),
        (("\"near\", \"far\"] }", "\"near\", \"far\"], scheduler = \"per-flow\" }"), "scheduler"),
    ] {
        let message = check(&with(change)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(expected), "{change:?}: {message}");
    }
}

#[test]
fn clients_roam_as_wpa_supplicant_can_and_not_otherwise() {
    let refusal = |roaming: &str| {
        let cell = format!(
            "wlans.cell = {{ standard = \"802.11g\", propagation = \"log-distance\", stations = [\"near\"], roaming = {{ \
             access-points = [\"gateway\", \"far\"], {roaming} }} }}"
        );
        let text = CELL.lines().map(|line| if line.starts_with("wlans.cell") { &cell } else { line });
        let text = text
            .collect::<Vec<_>>()
            .join("\n")
            .replace("nodes.far.kind = \"host\"", "nodes.far.kind = \"router\"");
        let text = text
            + "\nlinks.other = { between = [\"gateway\", \"far\"], rate = \"100 Mbit/s\", delay = \"1 ms\" }\n";
        let text = text.replace(
            "nodes.gateway.kind = \"router\"",
            "nodes.gateway = { kind = \"router\", position = [\"9 m\", \"0 m\"] }",
        );
        let scenario = file::parse(&text, "cell.toml", Path::new(""), &Overrides::default());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
        check(&scenario).err().map(|error| error.to_string())
    };
    assert_eq!(refusal("security = \"open\""), None, "all are on one channel without a number");
    assert_eq!(refusal("channels = [1, 11], short-scan-interval = \"2 s\", scan-threshold = -60"), None);
    for (roaming, expected) in [
        ("channels = [1, 36]", "channels 1 to 11"),
        ("short-scan-interval = \"1500 ms\"", "whole seconds"),
        ("margin = 7", "rules of its own"),
        ("scan = \"passive\"", "rules of its own"),
        ("switch-time = \"10 ms\"", "rules of its own"),
        ("beacon-interval = \"10 ms\"", "10 to 10000 time units"),
    ] {
        let message = refusal(roaming).unwrap_or_default();
        assert!(
            message.contains(expected) && message.ends_with("or use --time real"),
            "{roaming}: {message}"
        );
    }
}

#[test]
fn a_client_with_an_agent_has_its_radio_on_an_adapter() {
    let on_adapters = |change| {
        let radios = Radios::of_kernel(&scenario(change));
        radios.of_hosts().iter().map(|radio| radio.on_adapter).collect::<Vec<_>>()
    };
    assert_eq!(on_adapters(("", "")), [false; 3], "Snoop is at the edge only");
    assert_eq!(on_adapters(("\"snoop\"", "\"lle-tcp\"")), [false, true, true]);
}
