//! Packets to and from stations that doze.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{DropCause, NodeId, NodeKind, Opening, QueueLimit, StationId, WlanId, World};
use lasthop_tcp::Config;
use lasthop_wifi::{ErrorConfig, PowerSaveConfig, Standard, StationConfig, WlanConfig};

use crate::support::{direction, flow, ms, node, packet, percent, tcp_transport, wired};

/// A server, a wire of 100 Mbit/s and 1 ms, an access point, two stations of which the first dozes.
struct Site {
    world: World,
    server: NodeId,
    nodes: [NodeId; 2],
    wlan: WlanId,
    stations: [StationId; 3],
}

fn site(kind: NodeKind, config: PowerSaveConfig) -> Site {
    let mut world = World::new(7);
    let server = node(&mut world, "server", kind);
    let ap = node(&mut world, "ap", NodeKind::Router);
    world.add_wired_link(server, ap, &wired("wire", &direction(100_000), 1));
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let nodes = ["sleeper", "waker"].map(|name| node(&mut world, name, kind));
    let [center, first, second] =
        [ap, nodes[0], nodes[1]].map(|node| world.add_station(wlan, node, &StationConfig::default()));
    for station in [first, second] {
        world.add_radio_link("air", wlan, center, station);
    }
    world.save_power(wlan, center, &[first], config);
    Site { world, server, nodes, wlan, stations: [center, first, second] }
}

#[test]
fn tcp_to_and_from_a_station_that_dozes_is_intact() {
    let mut site = site(NodeKind::Host, PowerSaveConfig::default());
    let [dozing, awake] = [0, 1].map(|station| {
        let ends = [(site.server, site.nodes[station]), (site.nodes[station], site.server)];
        ends.map(|ends| {
            let mut config = flow(&site.world, ends, Some(100_000));
            config.transport = tcp_transport(Opening::Established, &Config::default());
            site.world.add_flow(config)
        })
    });
    for step in 1..=200 {
        site.world.run(ms(100 * step), false);
        assert!(site.world.accounts().balance(), "{:?}", site.world.accounts());
    }
    for flow in [dozing, awake].concat() {
        let outcome = site.world.outcome(flow);
        assert!(outcome.intact && outcome.octets == 100_000, "{outcome:?}");
    }
    let used = site.stations.map(|station| site.world.radio_use(site.wlan, station));
    assert_eq!((used[0].awake, used[2].awake), (None, None));
    // 200 beacons of 704 us, and the time for the rest.
    let time = used[1].awake.expect("it is in power-save mode");
    assert!(time > Duration::from_millis(137) && time < Duration::from_secs(5), "{time:?}");
    assert_eq!(site.world.accounts().in_transit, 0);
}

#[test]
fn a_small_file_takes_a_beacon_interval_for_each_round_trip() {
    // 10 segments of 1,000 octets with a window of two: five rounds, of 3 ms without power save.
    let time = |station: usize, upload: bool| {
        let mut site = site(NodeKind::Host, PowerSaveConfig::default());
        let ends = (site.server, site.nodes[station]);
        let ends = if upload { (ends.1, ends.0) } else { ends };
        let mut config = flow(&site.world, ends, Some(10_000));
        let tcp = Config { mss: 1000, window: 2_000, initial_ssthresh: 2_000, ..Config::default() };
        config.transport = tcp_transport(Opening::Established, &tcp);
        let flow = site.world.add_flow(config);
        while site.world.outcome(flow).octets < 10_000 {
            let next = site.world.next_event_at().expect("beacons have no end");
            site.world.run(next, false);
        }
        site.world.now().as_secs_f64()
    };
    for upload in [true, false] {
        let (dozing, awake) = (time(0, upload), time(1, upload));
        assert!(awake < 0.05, "{upload}: {awake}");
        // At least the four whole rounds between the first and the last, each of an interval.
        assert!((0.35..0.75).contains(&dozing), "{upload}: {dozing}");
    }
}

#[test]
fn a_packet_that_nobody_fetches_is_dropped_and_counted_and_the_others_are_not() {
    let config = PowerSaveConfig {
        ageing: Duration::from_millis(500),
        buffer: QueueLimit::Packets(4),
        ..PowerSaveConfig::default()
    };
    let mut site = site(NodeKind::External, config);
    // It hears no beacon.
    let deaf = ErrorConfig::packets(percent(100.0), false);
    site.world.set_radio_errors(site.wlan, site.stations[0], site.stations[1], deaf);
    for number in 0..6 {
        for to in site.nodes {
            let packet = packet(&site.world, site.server, to, number);
            site.world.inject(site.server, packet);
        }
    }
    site.world.advance_to(ms(300));
    assert_eq!(site.world.accounts().in_transit, 4);
    site.world.advance_to(ms(2_000));
    let accounts = site.world.accounts();
    assert!(accounts.balance());
    assert_eq!((accounts.dropped[&DropCause::PowerSave], accounts.dropped[&DropCause::QueueFull]), (4, 2));
    assert_eq!((accounts.consumed, accounts.in_transit), (6, 0));
    assert_eq!(site.world.now(), Instant::from_secs(2));
}
