//! Routing on demand, random positions, mobility, and static routes.

use std::time::Duration;

use lasthop_aodv::{AodvConfig, Metric};

use super::{error, read};
use crate::model::Link;

/// Four stations of an AODV cell; tests replace a line of it.
const FIELD: &str = r#"seeds = [1, 2]
schemes = ["none", "lle-tcp"]
[nodes.a]
kind = "host"
[nodes.b]
kind = "host"
[nodes.relay]
kind = "router"
count = 6
[wlans.field]
standard = "802.11b"
stations = ["a", "b", "relay"]
propagation = { kind = "ranges", reception = "60 m", carrier-sense = "100 m" }
routing = "aodv"
[wlans.field.placement]
area = ["100 m", "100 m"]
apart = { from = "a", to = "b", hops = 2 }
[wlans.field.mobility]
model = "random-waypoint"
area = ["100 m", "50 m"]
speed = ["1 m/s", "36 km/h"]
pause = "2 s"
fixed = ["a"]
[flows.bulk]
from = "a"
to = "b"
"#;

#[track_caller]
fn check(text: &str, cases: &[(&str, &str, &str, &str)]) {
    for (right, wrong, place, says) in cases {
        assert!(text.contains(right), "{right}");
        let error = error(&text.replacen(right, wrong, 1));
        assert!(error.starts_with(&format!("x.toml:{place}: ")), "{wrong}: expected {place} in: {error}");
        assert!(error.contains(says), "{wrong}: expected {says:?} in: {error}");
    }
}

#[test]
fn a_cell_on_demand_has_links_between_all_stations_and_places_by_the_seed() {
    let scenario = read(FIELD).expect("a right scenario");
    let cell = &scenario.wlans[0];
    assert_eq!(cell.routing, Some(AodvConfig::default()));
    assert_eq!(scenario.links.len(), 8 * 7 / 2);
    assert!(scenario.links.iter().all(|link| matches!(link.link, Link::Radio { wlan: 0, .. })));
    let mobility = cell.mobility.as_ref().expect("it is given");
    assert_eq!(mobility.walkers, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!((mobility.model.speed, mobility.model.pause), ((1.0, 10.0), Duration::from_secs(2)));
    let places = |seed: u64| {
        let built = scenario.build(&scenario.schemes[0], seed).expect("it can be built");
        let at = &built.wlans[0];
        let places = at.stations.iter().map(|station| built.world.wlan(at.wlan).position(*station));
        places.map(|place| (place.x.to_bits(), place.y.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(places(7), places(7));
    assert_ne!(places(7), places(8));
}

#[test]
fn a_run_carries_data_under_every_scheme_while_stations_walk() {
    let scenario = read(FIELD).expect("a right scenario");
    for scheme in &scenario.schemes {
        let mut built = scenario.build(scheme, 1).expect("it can be built");
        built.world.run(lasthop_packet::Instant::from_secs(20), false);
        let outcome = built.world.outcome(built.flows[0]);
        assert!(outcome.octets > 100_000 && outcome.intact, "{scheme:?}: {outcome:?}");
        let accounts = built.world.accounts();
        assert_eq!(accounts.in_transit + accounts.consumed > 0, accounts.balance());
    }
}

#[test]
fn every_parameter_of_section_10_is_a_key() {
    let table = r#"routing = { protocol = "aodv", active-route-timeout = "10 s", my-route-timeout = "11 s", delete-period = "12 s",
 node-traversal-time = "30 ms", net-diameter = 30, rreq-retries = 3, rreq-ratelimit = 4, rerr-ratelimit = 5, ttl-start = 6, ttl-increment = 7,
 ttl-threshold = 8, timeout-buffer = 9, destination-only = true, gratuitous-replies = true, hello-interval = "2 s", allowed-hello-loss = 3,
 link-layer-feedback = false, broadcast-jitter = "1 ms", buffer = 99, metric = "bandwidth-delay" }"#;
    let table = table.replace('\n', "");
    let scenario = read(&FIELD.replacen("routing = \"aodv\"", &table, 1)).expect("a right scenario");
    let expected = AodvConfig {
        active_route_timeout: Duration::from_secs(10),
        my_route_timeout: Some(Duration::from_secs(11)),
        delete_period: Some(Duration::from_secs(12)),
        node_traversal_time: Duration::from_millis(30),
        net_diameter: 30,
        rreq_retries: 3,
        rreq_rate_limit: 4,
        rerr_rate_limit: 5,
        ttl_start: 6,
        ttl_increment: 7,
        ttl_threshold: 8,
        timeout_buffer: 9,
        destination_only: true,
        gratuitous_replies: true,
        hello_interval: Some(Duration::from_secs(2)),
        allowed_hello_loss: 3,
        link_layer_feedback: false,
        broadcast_jitter: Duration::from_millis(1),
        metric: Metric::BandwidthDelay,
        buffer: 99,
    };
    assert_eq!(scenario.wlans[0].routing, Some(expected));
}

#[test]
fn impossible_cells_are_refused_with_the_place() {
    let routing = "routing = \"aodv\"";
    check(
        FIELD,
        &[
            (routing, "routing = \"olsr\"", "14: wlans.field.routing", "olsr"),
            (
                routing,
                "routing = { protocol = \"aodv\", net-diameter = 0 }",
                "14: wlans.field.routing.net-diameter",
                "1 to 255",
            ),
            (
                routing,
                "routing = { protocol = \"aodv\", link-layer-feedback = false }",
                "14: wlans.field.routing.link-layer-feedback",
                "hello-interval",
            ),
            (
                routing,
                "routing = { protocol = \"shortest-path\", ttl-start = 2 }",
                "14: wlans.field.routing.ttl-start",
                "shortest paths",
            ),
            (
                "stations = [\"a\", \"b\", \"relay\"]",
                "stations = [\"b\", \"relay\"]\naccess-point = \"a\"",
                "15: wlans.field.routing",
                "access point",
            ),
            (routing, "", "15: wlans.field.placement", "aodv"),
            ("speed = [\"1 m/s\"", "speed = [\"0 m/s\"", "21: wlans.field.mobility.speed[0]", "0.001 m/s"),
            ("speed = [\"1 m/s\"", "speed = [\"11 m/s\"", "21: wlans.field.mobility.speed", "slowest"),
            (
                "area = [\"100 m\", \"50 m\"]",
                "area = [\"100 m\", \"0 m\"]",
                "20: wlans.field.mobility.area",
                "above zero",
            ),
            ("fixed = [\"a\"]", "fixed = [\"c\"]", "23: wlans.field.mobility.fixed[0]", "unknown node \"c\""),
            ("hops = 2", "hops = 40", "17: wlans.field.placement.apart", "this many hops apart"),
            ("to = \"b\", hops", "to = \"a\", hops", "17: wlans.field.placement.apart.to", "another station"),
            (
                "[nodes.b]\nkind = \"host\"",
                "[nodes.b]\nkind = \"host\"\nposition = [\"1 m\", \"1 m\"]",
                "7: nodes.b.position",
                "by seed",
            ),
            (
                "[nodes.b]\nkind = \"host\"",
                "[nodes.b]\nkind = \"host\"\nroutes = { a = \"relay-1\" }",
                "7: nodes.b.routes.a",
                "on demand",
            ),
            (
                "[flows.bulk]",
                "[nodes.c]\nkind = \"host\"\n[links.wire]\nbetween = [\"c\", \"a\"]\nrate = \"1 Mbit/s\"\n[flows.bulk]",
                "14: wlans.field.routing",
                "does not lead out",
            ),
        ],
    );
}

/// A square of wires: a - b - d and a - c - d.
const SQUARE: &str = r#"seeds = 1
[nodes.a]
kind = "host"
routes = { d = "c" }
[nodes.b]
kind = "router"
[nodes.c]
kind = "router"
[nodes.d]
kind = "host"
[links.ab]
between = ["a", "b"]
rate = "1 Mbit/s"
[links.bd]
between = ["b", "d"]
rate = "1 Mbit/s"
[links.ac]
between = ["a", "c"]
rate = "1 Mbit/s"
[links.cd]
between = ["c", "d"]
rate = "1 Mbit/s"
loss = "100%"
[flows.bulk]
from = "a"
to = "d"
"#;

#[test]
fn a_static_route_takes_precedence_over_the_shortest_path() {
    let octets = |text: &str| {
        let scenario = read(text).expect("a right scenario");
        let mut built = scenario.build(&scenario.schemes[0], 1).expect("it can be built");
        built.world.run(lasthop_packet::Instant::from_secs(20), false);
        built.world.outcome(built.flows[0]).octets
    };
    assert_eq!(octets(SQUARE), 0, "by c everything is lost");
    assert!(octets(&SQUARE.replacen("d = \"c\"", "d = \"b\"", 1)) > 1_000_000);
    assert!(octets(&SQUARE.replacen("routes = { d = \"c\" }", "", 1)) > 1_000_000);
}

#[test]
fn a_static_route_leads_to_a_neighbor_and_reaches_its_destination() {
    let right = "routes = { d = \"c\" }";
    check(
        SQUARE,
        &[
            (right, "routes = { d = \"d\" }", "4: nodes.a.routes.d", "not a neighbor"),
            (right, "routes = { a = \"c\" }", "4: nodes.a.routes.a", "to itself"),
            (right, "routes = { e = \"c\" }", "4: nodes.a.routes.e", "unknown node \"e\""),
            (right, "routes = { d = \"e\" }", "4: nodes.a.routes.d", "unknown node \"e\""),
            (
                "[nodes.c]\nkind = \"router\"",
                "[nodes.c]\nkind = \"router\"\nroutes = { d = \"a\" }",
                "4: nodes.a.routes.d",
                "would loop",
            ),
        ],
    );
}

#[test]
fn a_static_route_to_a_neighbor_without_a_route_is_refused() {
    let island = SQUARE.replacen("between = [\"b\", \"d\"]", "between = [\"b\", \"c\"]", 1);
    let cut =
        island.find("[links.cd]").expect("it is there")..island.find("[flows.bulk]").expect("it is there");
    let error = error(&[&island[..cut.start], &island[cut.end..]].concat());
    assert!(error.contains("flows.bulk.to: flow \"bulk\": no route from \"a\" to \"d\""), "{error}");
}

#[test]
fn the_datagram_limit_of_a_cell_applies_to_static_routes() {
    let cell =
        "[wlans.cell]\nstandard = \"802.11b\"\nstations = [\"a\", \"c\"]\n[tcp]\nsegment = \"4000 B\"\n";
    let wire = "[links.ac]\nbetween = [\"a\", \"c\"]\nrate = \"1 Mbit/s\"\n";
    assert!(SQUARE.contains(wire));
    let through_cell = format!("{}{cell}", SQUARE.replacen(wire, "", 1));
    let error = error(&through_cell);
    assert!(
        error.contains("tcp.segment: flow \"bulk\" sends datagrams of 4040 octets including headers"),
        "{error}"
    );
    let beside_it = through_cell.replacen("routes = { d = \"c\" }", "routes = { d = \"b\" }", 1);
    read(&beside_it).unwrap_or_else(|error| panic!("{error}"));
}
