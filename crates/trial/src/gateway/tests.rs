use std::path::Path;

use lasthop_agent::LinkSenses;
use lasthop_scenario::{Overrides, Scenario, file};

use super::{check, check_in_simulated_time, senses};
use crate::radios::Radios;

const SCENARIO: &str = r#"
duration = "10 s"
schemes = ["none"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "20 ms" }
wlans.cell = { standard = "802.11b", access-point = "gateway", stations = ["client"] }
flows.download = { from = "server", to = "client" }
"#;

fn scenario(text: &str) -> (Scenario, usize) {
    let scenario = file::parse(text, "edge.toml", Path::new(""), &Overrides::default());
    let scenario = scenario.expect("a scenario");
    let edge = scenario.nodes.iter().position(|node| node.name == "gateway").expect("it is there");
    (scenario, edge)
}

#[test]
fn an_edge_offers_only_the_link_events_that_a_gateway_can_receive() {
    let (scenario, edge) = scenario(SCENARIO);
    assert_eq!(senses(&scenario, edge), LinkSenses::FRAME_FATE | LinkSenses::RETRIES);
}

#[test]
fn the_error_names_the_setting_if_only_a_setting_is_impossible() {
    let refusal = |schemes: &str| {
        let (scenario, edge) = scenario(&SCENARIO.replace("[\"none\"]", schemes));
        check(&scenario, edge).map_err(|error| error.to_string())
    };
    assert_eq!(refusal("[\"none\", \"as-tcp\"]"), Ok(()));
    let setting = refusal("[{ scheme = \"as-tcp\", refuse-above = \"50 kB\" }]").expect_err("it cannot");
    assert!(
        setting.contains("with refuse-above = \"50 kB\" needs") && setting.contains("leave this setting out"),
        "{setting}"
    );
    let scheme = refusal("[\"c3tcp\"]").expect_err("it cannot");
    assert!(
        scheme.contains("needs options in frames") && scheme.contains("leave the scheme out"),
        "{scheme}"
    );
}

#[test]
fn in_simulated_time_only_the_kernels_wifi_reports_the_fates_of_frames() {
    let refusal = |scheme: &str, has_radios: bool| {
        let (scenario, edge) = scenario(&SCENARIO.replace("\"none\"", scheme));
        let radios = if has_radios { Radios::of_kernel(&scenario) } else { Radios::none() };
        check_in_simulated_time(&scenario, edge, &radios, |_| None).map_err(|error| error.to_string())
    };
    assert_eq!(refusal("\"lle-tcp\"", true), Ok(()));
    assert_eq!(refusal("\"as-tcp\"", true), Ok(()));
    assert_eq!(refusal("\"snoop\"", false), Ok(()));
    let blind = refusal("\"lle-tcp\"", false).expect_err("the model's stations report nothing");
    assert!(blind.contains("needs the fate of each frame") && blind.contains("--schemes"), "{blind}");
    let effort = refusal("\"simple-icmp\"", true).expect_err("a driver reports a frame at its end");
    assert!(effort.contains("needs the retries of each frame"), "{effort}");
}

#[test]
fn tx_status_needs_a_kernel_whose_radios_use_the_queues_of_mac80211() {
    let refusal = |scheme: &str, series: Option<[u16; 2]>| {
        let (scenario, edge) = scenario(&SCENARIO.replace("\"none\"", scheme));
        let radios = Radios::of_kernel(&scenario);
        check_in_simulated_time(&scenario, edge, &radios, |_| series).map_err(|error| error.to_string())
    };
    assert_eq!(refusal("\"lle-tcp\"", Some([6, 2])), Ok(()));
    assert_eq!(refusal("\"lle-tcp\"", None), Ok(()), "a path of which nothing is known");
    assert_eq!(refusal("\"snoop\"", Some([6, 1])), Ok(()));
    for scheme in ["\"lle-tcp\"", "\"as-tcp\""] {
        let old = refusal(scheme, Some([6, 1])).expect_err("it has no TX status");
        assert!(old.contains("before Linux 6.2 (here 6.1)"), "{old}");
    }
}
