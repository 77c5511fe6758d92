//! Links that impair a part of the traffic.

use lasthop_sim::world::{Change, LinkDirection};

use super::{error, read};

#[test]
fn a_link_impairs_a_part_of_the_traffic_from_the_start_or_by_changes() {
    let text = r#"
duration = "10 s"
nodes.a.kind = "external"
nodes.b.kind = "external"
[links.hop]
between = ["a", "b"]
rate = "1 Mbit/s"
only = "tcp:9999, udp"
except = 53
[[changes]]
at = "2 s"
set = { "links.hop.only" = "all", "links.hop.except" = "none" }
[[changes]]
at = "every 3 s for 1 s"
set = { "links.hop.loss" = "100%" }
"#;
    let scenario = read(text).expect("a good file");
    let selection = &scenario.links[0].selection;
    assert!(!selection.is_everything());
    let [change] = scenario.changes.as_slice() else { panic!("one change of one link") };
    assert!(change.model.selection.is_everything());
    let links = scenario.build(&scenario.schemes[0], 1).expect("it can run").links;
    let planned = scenario.planned_changes(&links, true);
    let [planned] = planned.as_slice() else { panic!("{planned:?}") };
    assert_eq!(
        (planned.way, &planned.change),
        (LinkDirection::Both, &Change::Selection(change.model.selection.clone()))
    );

    let for_a_time = text.replace("at = \"2 s\"", "at = \"2 s for 1 s\"");
    let scenario = read(&for_a_time).expect("a good file");
    let planned = scenario.planned_intervals(&links, true);
    let [planned] = planned.as_slice() else { panic!("{planned:?}") };
    assert_eq!(planned.outside, Change::Selection(scenario.links[0].selection.clone()));
    assert_eq!(planned.within, Change::Selection(lasthop_sim::Selection::everything()));

    for (from, to, says) in [
        (
            "only = \"tcp:9999, udp\"",
            "only = \"tcp:host.lasthop\"",
            "\"host.lasthop\" is a name; expected an address",
        ),
        ("except = 53", "except = 65536", "port 65536 is out of range; expected 0 to 65535"),
        ("links.hop.only", "links.hop.forward.only", "unknown"),
    ] {
        let message = error(&text.replacen(from, to, 1));
        assert!(message.contains(says), "{message}");
    }
}
