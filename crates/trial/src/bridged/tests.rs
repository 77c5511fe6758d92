use std::path::Path;

use lasthop_scenario::{Overrides, Scenario, file};

use super::Lan;

const SCENARIO: &str = r#"
duration = "10 s"
schemes = ["none", "snoop"]
nodes.server.kind = "host"
nodes.switch.kind = "router"
nodes.hall = { kind = "router", position = ["0 m", "0 m"] }
nodes.stairs = { kind = "router", position = ["50 m", "0 m"] }
nodes.walker = { kind = "host", position = ["0 m", "3 m"] }
links.uplink = { between = ["server", "switch"], rate = "100 Mbit/s", delay = "5 ms" }
links.first = { between = ["switch", "hall"], rate = "100 Mbit/s", delay = "1 ms" }
links.second = { between = ["switch", "stairs"], rate = "100 Mbit/s", delay = "1 ms" }
flows.download = { from = "server", to = "walker" }

[wlans.floor]
standard = "802.11a"
rate = "6 Mbit/s"
propagation = "log-distance"
stations = ["walker"]
roaming = { access-points = ["hall", "stairs"] }
"#;

fn scenario(text: &str) -> Scenario {
    let scenario = file::parse(text, "roaming.toml", Path::new(""), &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// Why a scenario cannot be tried.
fn refusal(text: &str) -> String {
    crate::plan::check(&scenario(text)).expect_err("it cannot").to_string()
}

#[test]
fn a_gateway_is_at_each_access_point_with_a_cable_and_a_radio() {
    let scenario = scenario(SCENARIO);
    crate::plan::check(&scenario).expect("it can be tried");
    let lan = Lan::of(&scenario).expect("clients roam");
    assert_eq!(crate::plan::edges(&scenario).expect("there are some"), [2, 3]);
    assert_eq!(lan.access_points(), [2, 3]);
    assert_eq!(lan.ports(3), (vec!["second".to_owned()], vec!["wlan.0".to_owned()]));
    assert_eq!(lan.ports_of(0), ["uplink"]);
    assert_eq!(lan.ports_of(4), ["wlan.0"]);
    assert_eq!(lan.addresses()[4].to_string(), "10.77.0.5");
}

#[test]
fn the_registry_is_at_an_access_point_if_gateways_hand_over() {
    let registry = |more: &str| {
        let text = SCENARIO.replace("\"stairs\"] }", &format!("\"stairs\"], {more} }}"));
        Lan::of(&scenario(&text)).expect("clients roam").registry()
    };
    assert_eq!(registry("scan = \"active\""), Some(0));
    assert_eq!(registry("registry = \"stairs\""), Some(1));
    assert_eq!(registry("hand-off = false"), None);
    let text = SCENARIO.replace("\"stairs\"] }", "\"stairs\"], registry = \"switch\" }");
    let refused = refusal(&text);
    assert!(refused.starts_with("wlans.floor.roaming.registry: not an access point"), "{refused}");
}

#[test]
fn networks_that_bridges_cannot_join_are_refused() {
    let ring = "links.ring = { between = [\"hall\", \"stairs\"], rate = \"100 Mbit/s\", delay = \"1 ms\" }\n\n[wlans.floor]";
    let refused = refusal(&SCENARIO.replace("\n[wlans.floor]", ring));
    assert!(refused.starts_with("links: \"ring\" is part of a ring"), "{refused}");
    let second = "nodes.other.kind = \"router\"\nlinks.more = { between = [\"server\", \"other\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\n[wlans.floor]";
    let refused = refusal(&SCENARIO.replace("\n[wlans.floor]", second));
    assert!(refused.starts_with("nodes.server: a host with several links"), "{refused}");
}

#[test]
fn what_only_simulated_nodes_can_do_is_refused() {
    let refused = refusal(&SCENARIO.replace("\"snoop\"]", "\"lle-tcp\"]"));
    assert!(refused.contains("\"lle-tcp\"") && refused.contains("clients with agents"), "{refused}");
    let refused = refusal(&SCENARIO.replace("\"stairs\"] }", "\"stairs\"], nat = \"independent\" }"));
    assert!(refused.contains("translate addresses"), "{refused}");
    let air = "nodes.far.kind = \"host\"\nlinks.air = { kind = \"wireless\", between = [\"switch\", \"far\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\n[wlans.floor]";
    let refused = refusal(&SCENARIO.replace("\n[wlans.floor]", air));
    assert!(refused.contains("other wireless links"), "{refused}");
}
