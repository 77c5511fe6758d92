//! The scheme of the tutorial "Your first scheme" does what the tutorial says.

mod ack_thinning;

use std::path::Path;

use lasthop_agent::counter::DROPPED_HELD;
use lasthop_packet::Instant;
use lasthop_scenario::file::parse;
use lasthop_scenario::{Overrides, SchemeChoice};
use lasthop_schemes::SchemeStack;

use ack_thinning::SCHEME;

const SCENARIO: &str = r#"
duration = "60 s"
schemes = ["none"]
[nodes]
server = { kind = "host" }
ap = { kind = "router" }
phone = { kind = "host" }
[links.wire]
between = ["server", "ap"]
rate = "100 Mbit/s"
delay = "5 ms"
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["phone"]
[flows.download]
from = "server"
to = "phone"
size = "5 MB"
"#;

/// Seconds until the download is complete, and ACKs that did not cross the hop.
fn download(choice: &SchemeChoice) -> (f64, u64) {
    let scenario =
        parse(SCENARIO, "tutorial.toml", Path::new("."), &Overrides::default()).expect("it is right");
    let mut world = scenario.build(choice, 1).expect("it needs nothing of the link layer").world;
    world.run(Instant::from_secs(60), true);
    assert!(world.accounts().balance() && world.held_by_agents() == 0);
    let flow = world.flows().next().expect("there is one");
    let outcome = world.outcome(flow);
    assert!(outcome.intact);
    let completion = outcome.completion.expect("60 s are enough");
    (completion.as_secs_f64(), world.reported().get(&DROPPED_HELD))
}

#[test]
#[expect(clippy::print_stdout, reason = "the tutorial shows it")]
fn half_of_the_acks_stay_off_the_air_and_the_download_is_faster() {
    let stack = SchemeStack::from_schemes([(&SCHEME, toml::Table::new())]).expect("it is right");
    let none = SchemeChoice::new("none", toml::Table::new()).expect("it is there");
    let (without, _) = download(&none);
    let (with, thinned) = download(&SchemeChoice::from_stack(stack));
    println!("none {without:.2} s, ack-thinning {with:.2} s ({thinned} ACKs stayed off the air)");
    assert!(thinned > 500 && with < without, "{thinned} ACKs, {with} s for {without} s");
}

#[test]
fn the_description_of_the_scheme_follows_from_its_code() {
    assert_eq!(SCHEME.places(), "an agent at mobile-host");
    assert!(SCHEME.needs().is_empty());
    let schema = SCHEME.schema().to_value();
    assert!(schema["properties"]["patience"]["description"].as_str().is_some_and(|it| it.contains("20 ms")));
    let refused = SchemeStack::from_schemes([(&SCHEME, "patience = \"2 h\"".parse().expect("TOML"))]);
    let refused = refused.map(drop).expect_err("it is out of range").error.to_string();
    assert!(refused.contains("2 h is out of range; expected 1 ms to 1 s"), "{refused}");
}
