//! Packets for everybody in range.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::{Ip, Packet, Payload, Transport, Udp};
use lasthop_sim::{DropCause, NodeId, NodeKind, QueueLimit, World};
use lasthop_wifi::{Position, Propagation, Standard, StationConfig, WlanConfig};

use crate::support::{direction, ms, node, wired};

/// External nodes on a line, 100 m apart, who hear each other up to 150 m; links between
/// neighbours.
fn line(nodes: usize, queue: QueueLimit) -> (World, Vec<NodeId>) {
    let mut world = World::new(1);
    let config = WlanConfig {
        propagation: Propagation::Ranges { reception: 150.0, carrier_sense: 350.0 },
        ..WlanConfig::new(Standard::HrDsss)
    };
    let wlan = world.add_wlan("field", config);
    let all: Vec<_> = (0..nodes)
        .map(|number| {
            let id = node(&mut world, &format!("node {number}"), NodeKind::External);
            let position = Position::new(100.0 * number as f64, 0.0);
            (id, world.add_station(wlan, id, &StationConfig { position, queue, ..StationConfig::default() }))
        })
        .collect();
    for pair in all.windows(2) {
        world.add_radio_link("air", wlan, pair[0].1, pair[1].1);
    }
    (world, all.into_iter().map(|(id, _)| id).collect())
}

fn broadcast(world: &World, from: NodeId) -> Packet {
    let ip = Ip::new(world.node_address(from), IpAddr::V4(Ipv4Addr::BROADCAST));
    let udp = Udp { source_port: 7, destination_port: 7 };
    Packet::new(ip, Transport::Udp(udp), Payload::Stream { stream: 1, offset: 0, len: 100 })
}

#[test]
fn a_broadcast_is_one_frame_and_everybody_in_range_has_a_copy() {
    let (mut world, nodes) = line(4, QueueLimit::Packets(50));
    world.inject(nodes[1], broadcast(&world, nodes[1]));
    world.advance_to(ms(100));
    let arrived: Vec<usize> = nodes.iter().map(|node| world.collect(*node).len()).collect();
    assert_eq!(arrived, [1, 0, 1, 0]);
    assert_eq!(world.counters().frames_sent, 1);
    let accounts = world.accounts();
    assert!(accounts.balance(), "{accounts:?}");
    assert_eq!(
        (accounts.originated, accounts.broadcast, accounts.heard, accounts.consumed, accounts.in_transit),
        (1, 1, 2, 2, 0)
    );
}

#[test]
fn accounts_balance_while_broadcasts_wait_collide_and_overflow_a_queue() {
    let (mut world, nodes) = line(6, QueueLimit::Packets(3));
    for step in 0..400u64 {
        world.advance_to(ms(step / 4));
        for node in &nodes {
            world.inject(*node, broadcast(&world, *node));
        }
        assert!(world.accounts().balance(), "{:?}", world.accounts());
    }
    world.advance_to(ms(10_000));
    let accounts = world.accounts();
    assert!(accounts.balance() && accounts.in_transit == 0, "{accounts:?}");
    assert!(accounts.dropped[&DropCause::QueueFull] > 100, "{accounts:?}");
    assert_eq!(accounts.broadcast + accounts.dropped_in_all(), accounts.originated);
    assert!(accounts.heard < 2 * accounts.broadcast, "some collide: {accounts:?}");
}

#[test]
fn a_node_with_two_radios_broadcasts_on_both_and_one_without_on_none() {
    let mut world = World::new(1);
    let nodes = ["left", "middle", "right", "wired"].map(|name| node(&mut world, name, NodeKind::External));
    for (name, far) in [("one", nodes[0]), ("two", nodes[2])] {
        let wlan = world.add_wlan(name, WlanConfig::new(Standard::Ofdm));
        let ends = [nodes[1], far].map(|end| world.add_station(wlan, end, &StationConfig::default()));
        world.add_radio_link(name, wlan, ends[0], ends[1]);
    }
    world.add_wired_link(nodes[1], nodes[3], &wired("wire", &direction(1_000), 1));
    world.inject(nodes[1], broadcast(&world, nodes[1]));
    world.inject(nodes[3], broadcast(&world, nodes[3]));
    world.advance_to(ms(100));
    let arrived: Vec<usize> = nodes.iter().map(|node| world.collect(*node).len()).collect();
    assert_eq!(arrived, [1, 0, 1, 0]);
    let accounts = world.accounts();
    assert!(accounts.balance() && accounts.broadcast == 2, "{accounts:?}");
    assert_eq!(accounts.dropped[&DropCause::NoRoute], 1);
}
