use std::path::Path;

use lasthop_agent::LinkSenses;
use lasthop_scenario::{Overrides, file};

use super::senses;

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

#[test]
fn an_edge_offers_its_agents_no_more_than_a_gateway_can_be_told() {
    let scenario = file::parse(SCENARIO, "edge.toml", Path::new(""), &Overrides::default());
    let scenario = scenario.expect("a scenario");
    let edge = scenario.nodes.iter().position(|node| node.name == "gateway").expect("it is there");
    assert_eq!(senses(&scenario, edge), LinkSenses::FRAME_FATE);
}
