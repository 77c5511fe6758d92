//! Routes on demand over 802.11.

use std::time::Duration;

use lasthop_aodv::{AodvConfig, Metric};
use lasthop_packet::{Instant, Rng};
use lasthop_sim::mobility::RandomWaypoint;
use lasthop_sim::{Application, DropCause, NodeId, NodeKind, StationId, WlanId, World};
use lasthop_wifi::{Position, Propagation, Standard, StationConfig, WlanConfig};

use crate::support::{arrived, flow, hash, ms, node, packet, udp_flow};

struct Field {
    world: World,
    wlan: WlanId,
    nodes: Vec<NodeId>,
    stations: Vec<StationId>,
}

/// Nodes with AODV at these places, who hear each other up to 150 m, and a link between any two.
fn field(config: WlanConfig, aodv: AodvConfig, kind: NodeKind, places: &[Position], seed: u64) -> Field {
    let mut world = World::new(seed);
    let propagation = Propagation::Ranges { reception: 150.0, carrier_sense: 150.0 };
    let wlan = world.add_wlan("field", WlanConfig { propagation, ..config });
    let (mut nodes, mut stations) = (Vec::new(), Vec::new());
    for (number, position) in places.iter().enumerate() {
        let id = node(&mut world, &format!("node {number}"), kind);
        nodes.push(id);
        let config = StationConfig { position: *position, ..StationConfig::default() };
        stations.push(world.add_station(wlan, id, &config));
    }
    for (number, first) in stations.iter().enumerate() {
        for second in &stations[number + 1..] {
            world.add_radio_link("air", wlan, *first, *second);
        }
    }
    for id in &nodes {
        world.set_aodv(wlan, *id, aodv).expect("all its links are the cell's");
    }
    Field { world, wlan, nodes, stations }
}

/// 100 m from one to the next.
fn line(nodes: usize) -> Vec<Position> {
    (0..nodes).map(|number| Position::new(100.0 * number as f64, 0.0)).collect()
}

#[test]
fn in_a_quiet_chain_a_packet_arrives_when_arithmetic_says_after_a_search_over_three_hops() {
    let mut config = WlanConfig::new(Standard::HrDsss);
    // Nobody contends, and without a window post-backoff takes no slots.
    config.phy.cw_min = 0;
    let aodv = AodvConfig { broadcast_jitter: Duration::ZERO, ttl_start: 7, ..AodvConfig::default() };
    let mut field = field(config, aodv, NodeKind::External, &line(4), 1);
    let (from, to) = (field.nodes[0], field.nodes[3]);
    field.world.advance_to(ms(1_000));
    let first = packet(&field.world, from, to, 7);
    field.world.inject(from, first);
    field.world.advance_to(ms(2_000));
    let arrivals = field.world.collect(to);
    assert_eq!(arrivals.len(), 1);

    // Microseconds, whole ones (the LENGTH field). PLCP preamble and header take 192; headers of
    // MAC and LLC and the FCS are 36 octets, of IPv4 and UDP 28.
    let (sifs, difs) = (10.0, 50.0);
    let air = |octets: f64, mbps: f64| 192.0 + (octets * 8.0 / mbps).ceil();
    // Broadcasts go at the lowest basic rate, 1 Mbit/s; ACKs of frames at 11 Mbit/s at the highest,
    // 2 Mbit/s.
    let (rreq, rrep, data, ack) =
        (air(24.0 + 28.0 + 36.0, 1.0), air(20.0 + 28.0 + 36.0, 11.0), air(1_036.0, 11.0), air(14.0, 2.0));
    // Each forwards what it has heard after DIFS; what is unicast, after its own ACK of it, too.
    let there = rreq + 2.0 * (difs + rreq);
    let back = difs + rrep + 2.0 * (sifs + ack + difs + rrep);
    let then = 3.0 * (sifs + ack + difs + data);
    let measured = arrivals[0].0.since(ms(1_000)).as_nanos() as f64 / 1e3;
    assert!((measured - (there + back + then)).abs() < 0.01, "{measured} for {}", there + back + then);

    // It is known now.
    let second = packet(&field.world, from, to, 8);
    field.world.inject(from, second);
    field.world.advance_to(ms(3_000));
    let measured = field.world.collect(to)[0].0.since(ms(2_000)).as_nanos() as f64 / 1e3;
    let expected = data + 2.0 * (sifs + ack + difs + data);
    assert!((measured - expected).abs() < 0.01, "{measured} for {expected}");

    let counters = field.world.aodv_counters().expect("there are nodes with AODV");
    assert_eq!((counters.searches, counters.requests_originated, counters.requests_forwarded), (1, 1, 2));
    assert_eq!((counters.replies_originated, counters.replies_forwarded, counters.errors_sent), (1, 2, 0));
    let accounts = field.world.accounts();
    assert!(accounts.balance() && accounts.in_transit == 0 && accounts.dropped.is_empty(), "{accounts:?}");
}

#[test]
fn expanding_rings_find_what_is_far_and_nothing_finds_who_is_not_there() {
    let places = [line(4), vec![Position::new(9_000.0, 0.0)]].concat();
    let config = WlanConfig::new(Standard::HrDsss);
    let mut field = field(config, AodvConfig::default(), NodeKind::External, &places, 1);
    for (number, to) in [(1, 3), (2, 4)] {
        let sent = packet(&field.world, field.nodes[0], field.nodes[to], number);
        field.world.inject(field.nodes[0], sent);
    }
    field.world.advance_to(ms(1_000));
    assert_eq!(arrived(&mut field.world, field.nodes[3]), [1]);
    assert_eq!(field.world.accounts().in_transit, 1, "the other one waits");
    field.world.advance_to(ms(30_000));
    let accounts = field.world.accounts();
    assert!(accounts.balance() && accounts.in_transit == 0, "{accounts:?}");
    assert_eq!(accounts.dropped[&DropCause::RouteNotFound], 1);
}

#[test]
fn no_more_than_the_buffer_holds_waits_and_the_oldest_makes_room() {
    let config = WlanConfig::new(Standard::HrDsss);
    let aodv = AodvConfig { buffer: 3, ..AodvConfig::default() };
    let mut field = field(config, aodv, NodeKind::External, &line(3), 1);
    for number in 0..10 {
        let sent = packet(&field.world, field.nodes[0], field.nodes[2], number);
        field.world.inject(field.nodes[0], sent);
    }
    field.world.advance_to(ms(2_000));
    assert_eq!(arrived(&mut field.world, field.nodes[2]), [7, 8, 9]);
    assert_eq!(field.world.accounts().dropped[&DropCause::RouteBufferFull], 7);
}

#[test]
fn when_a_relay_leaves_its_neighbour_finds_another_way_and_what_waits_takes_it() {
    // Two relays between the ends, of which one is on the way.
    let places = [(0.0, 0.0), (100.0, 50.0), (100.0, -50.0), (200.0, 0.0)].map(|(x, y)| Position::new(x, y));
    let mut config = WlanConfig::new(Standard::HrDsss);
    // The ends do not hear each other.
    config.mac.rts_threshold = 0;
    let mut field = field(config, AodvConfig::default(), NodeKind::Host, &places, 1);
    let to = field.nodes[3];
    let config = flow(&field.world, (field.nodes[0], to), None);
    let tcp = field.world.add_flow(config);
    field.world.advance_to(ms(5_000));
    let far = field.world.node_address(to);
    let std::net::IpAddr::V4(far) = far else { panic!("IPv4 only") };
    let next_hop = |field: &Field| {
        let route = field.world.aodv(field.nodes[0]).and_then(|aodv| aodv.active_route(far));
        route.map(|route| route.next_hop)
    };
    let first = next_hop(&field).expect("data flows");
    let relay = (1..3).find(|relay| field.world.node_address(field.nodes[*relay]) == first);
    let relay = relay.expect("it is one of the two");
    field.world.move_stations(field.wlan, &[(field.stations[relay], Position::new(0.0, 5_000.0))]);
    field.world.advance_to(ms(10_000));
    let second = next_hop(&field).expect("data flows again");
    assert_ne!(first, second);
    let before = field.world.outcome(tcp).octets;
    field.world.advance_to(ms(15_000));
    let outcome = field.world.outcome(tcp);
    assert!(outcome.octets > before + 400_000 && outcome.intact, "{before} {outcome:?}");
    let counters = field.world.aodv_counters().expect("there are nodes with AODV");
    assert!(counters.links_broken >= 1 && counters.searches >= 2, "{counters:?}");
    assert!(field.world.accounts().balance());
}

/// Everything of a run of thirty walkers with two flows; where packets went is right all the time.
fn wander(seed: u64, hellos: bool) -> (u64, u64) {
    let mut rng = Rng::named(seed, "places");
    let area = Position::new(500.0, 500.0);
    let places: Vec<Position> = (0..20).map(|_| RandomWaypoint::anywhere(area, &mut rng)).collect();
    let aodv = AodvConfig {
        hello_interval: hellos.then_some(Duration::from_secs(1)),
        gratuitous_replies: hellos,
        ..AodvConfig::default()
    };
    let mut config = WlanConfig::new(Standard::HrDsss);
    config.mac.rts_threshold = 0;
    let mut field = field(config, aodv, NodeKind::Host, &places, seed);
    let hash = hash(&mut field.world);
    let model = RandomWaypoint {
        area,
        speed: (5.0, 20.0),
        pause: Duration::from_millis(500),
        interval: Duration::from_millis(100),
    };
    let stations = field.stations.clone();
    field.world.walk(field.wlan, "field", model, &stations);
    let nodes = &field.nodes;
    let tcp = flow(&field.world, (nodes[0], nodes[1]), None);
    let udp = udp_flow(&field.world, (nodes[2], nodes[3]), Application::transfer(None));
    let flows = [tcp, udp].map(|config| field.world.add_flow(config));
    for step in 1..600 {
        field.world.advance_to(Instant::from_millis(step * 100));
        let accounts = field.world.accounts();
        assert!(accounts.balance(), "{accounts:?}");
    }
    let octets = flows.map(|flow| {
        assert!(field.world.outcome(flow).intact);
        field.world.outcome(flow).octets
    });
    let counters = field.world.aodv_counters().expect("there are nodes with AODV");
    assert!(counters.links_broken > 10 && counters.errors_sent > 0, "{counters:?}");
    assert_eq!(counters.hellos_sent > 0, hellos);
    (hash(), octets[0] + octets[1])
}

#[test]
fn walkers_keep_the_accounts_and_the_same_seed_gives_the_same_walk() {
    let mut delivered = 0;
    for (seed, hellos) in [(1, false), (2, true), (3, false)] {
        let run = wander(seed, hellos);
        assert_eq!(run, wander(seed, hellos));
        delivered += run.1;
    }
    assert!(delivered > 1_000_000, "{delivered}");
}

#[test]
fn a_node_with_other_links_has_no_aodv() {
    let mut field =
        field(WlanConfig::new(Standard::Ofdm), AodvConfig::default(), NodeKind::Host, &line(2), 1);
    let server = node(&mut field.world, "server", NodeKind::Host);
    let wire = crate::support::wired("wire", &crate::support::direction(1_000), 1);
    field.world.add_wired_link(server, field.nodes[0], &wire);
    let refused = field.world.set_aodv(field.wlan, field.nodes[0], AodvConfig::default());
    assert!(refused.is_err());
    assert!(field.world.has_route(field.nodes[0], field.nodes[1]));
    assert!(!field.world.has_route(server, field.nodes[1]));
}

/// A run of ns-2's AODV on a static chain.
struct Chain {
    nodes: usize,
    /// Milliseconds between datagrams.
    every: u64,
    sent: u64,
    received: u64,
    /// RREQs of the source, and RREQs forwarded.
    requests: (u64, u64),
    /// RREPs on the air.
    replies: u64,
    errors: u64,
}

/// ns-2.35 with its own constants, 802.11 at 11 and 1 Mbit/s with RTS/CTS, nodes 200 m apart,
/// datagrams of 512 octets for 100 s.
const NS2: [Chain; 4] = [
    Chain { nodes: 4, every: 200, sent: 500, received: 500, requests: (1, 2), replies: 3, errors: 0 },
    Chain { nodes: 4, every: 15_000, sent: 7, received: 7, requests: (7, 14), replies: 21, errors: 0 },
    Chain { nodes: 6, every: 200, sent: 500, received: 500, requests: (1, 4), replies: 5, errors: 0 },
    Chain { nodes: 6, every: 15_000, sent: 7, received: 7, requests: (7, 28), replies: 35, errors: 0 },
];

#[test]
fn on_static_chains_searches_and_deliveries_are_those_of_ns2() {
    let aodv = AodvConfig {
        active_route_timeout: Duration::from_secs(10),
        my_route_timeout: Some(Duration::from_secs(10)),
        node_traversal_time: Duration::from_millis(30),
        net_diameter: 30,
        ttl_start: 5,
        ..AodvConfig::default()
    };
    for Chain { nodes, every, sent, received, requests, replies, errors } in NS2 {
        let mut config = WlanConfig::new(Standard::HrDsss);
        config.mac.rts_threshold = 0;
        let mut field = field(config, aodv, NodeKind::External, &line(nodes), 1);
        let (from, to) = (field.nodes[0], field.nodes[nodes - 1]);
        for number in 0..sent {
            field.world.advance_to(ms(1_000 + number * every));
            let datagram = crate::support::sized_packet(&field.world, (from, to), number as u32, 540);
            field.world.inject(from, datagram);
        }
        field.world.advance_to(ms(110_000));
        assert_eq!(arrived(&mut field.world, to).len() as u64, received);
        let counters = field.world.aodv_counters().expect("there are nodes with AODV");
        let searched = (counters.requests_originated, counters.requests_forwarded);
        assert_eq!(searched, requests, "{nodes} nodes, every {every} ms");
        let answered = (counters.replies_originated + counters.replies_forwarded, counters.errors_sent);
        assert_eq!(answered, (replies, errors), "{nodes} nodes, every {every} ms");
    }
}

/// Over which of two relays between node 0 and node 3 data goes, while node 1 is busy with other
/// data.
fn relay_beside_a_busy_one(metric: Metric, seed: u64) -> usize {
    // Node 4 hears node 1 and no other.
    let places = [(0.0, 0.0), (100.0, 40.0), (100.0, -40.0), (200.0, 0.0), (100.0, 180.0)];
    let places = places.map(|(x, y)| Position::new(x, y));
    let aodv = AodvConfig { metric, ..AodvConfig::default() };
    let mut field = field(WlanConfig::new(Standard::HrDsss), aodv, NodeKind::External, &places, seed);
    let nodes = field.nodes.clone();
    for step in 0..200 {
        field.world.advance_to(ms(5 * step));
        for number in 0..5 {
            let packet = packet(&field.world, nodes[1], nodes[4], number);
            field.world.inject(nodes[1], packet);
        }
        if step == 150 {
            let packet = packet(&field.world, nodes[0], nodes[3], 1);
            field.world.inject(nodes[0], packet);
        }
    }
    field.world.advance_to(ms(2_000));
    assert_eq!(arrived(&mut field.world, nodes[3]), [1]);
    let std::net::IpAddr::V4(to) = field.world.node_address(nodes[3]) else { panic!("IPv4 only") };
    let route = field.world.aodv(nodes[0]).and_then(|aodv| aodv.active_route(to)).expect("it was used");
    let next = std::net::IpAddr::V4(route.next_hop);
    assert_eq!(route.hop_count, 2);
    (0..5).find(|index| field.world.node_address(nodes[*index]) == next).expect("it is one of them")
}

#[test]
fn by_the_bandwidth_delay_product_a_route_goes_round_a_busy_relay_and_by_hops_over_whichever_is_first() {
    let by = |metric| (1..=8).map(move |seed| relay_beside_a_busy_one(metric, seed));
    assert!(by(Metric::BandwidthDelay).all(|relay| relay == 2));
    assert!(by(Metric::Hops).any(|relay| relay == 1));
}
