//! Queues, buffers, delays, routes, losses and rates.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{
    Capacity, CapacityTrace, Direction, DropCause, LinkLayer, NodeConfig, NodeId, NodeKind, QueueLimit, World,
};

use crate::support::{arrived, direction, ms, node, number, packet, percent, sized_packet, wired, wireless};

/// Two external nodes joined by a wired or a wireless link.
fn pair(direction: &Direction, is_wired: bool) -> (World, [NodeId; 2]) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    if is_wired {
        world.add_wired_link(ends[0], ends[1], &wired("wire", direction, 1));
    } else {
        world.add_wireless_link(ends[0], ends[1], &wireless("air", direction, LinkLayer::UNRELIABLE));
    }
    (world, ends)
}

/// How many of five packets of 1,000 octets that come at once get through.
fn admitted(queue: QueueLimit, is_wired: bool) -> usize {
    let (mut world, [from, to]) = pair(&Direction { queue: queue.into(), ..direction(8000) }, is_wired);
    for number in 0..5 {
        world.inject(from, packet(&world, from, to, number));
    }
    world.advance_to(ms(100));
    let arrived = arrived(&mut world, to).len();
    let full = world.accounts().dropped.get(&DropCause::QueueFull).copied().unwrap_or(0);
    assert_eq!(arrived as u64 + full, 5);
    arrived
}

#[test]
fn a_queue_limit_counts_packets_or_octets_that_wait() {
    for is_wired in [true, false] {
        assert_eq!(admitted(QueueLimit::Packets(2), is_wired), 3);
        assert_eq!(admitted(QueueLimit::Octets(2999), is_wired), 3);
        assert_eq!(admitted(QueueLimit::Octets(3000), is_wired), 4);
        assert_eq!(admitted(QueueLimit::Unlimited, is_wired), 5);
    }
}

#[test]
fn what_need_not_wait_needs_no_room() {
    for is_wired in [true, false] {
        assert_eq!(admitted(QueueLimit::Packets(0), is_wired), 1);
        assert_eq!(admitted(QueueLimit::Octets(10), is_wired), 1);
    }
}

#[test]
fn the_interfaces_of_a_node_share_its_buffer() {
    for is_wired in [true, false] {
        let mut world = World::new(1);
        let source = node(&mut world, "source", NodeKind::External);
        let router =
            world.add_node(NodeConfig { buffer: Some(2500), ..NodeConfig::new("router", NodeKind::Router) });
        let sinks = ["b", "c"].map(|name| node(&mut world, name, NodeKind::External));
        world.add_wired_link(source, router, &wired("fast", &direction(1_000_000), 1));
        for (sink, name) in sinks.into_iter().zip(["to b", "to c"]) {
            if is_wired {
                world.add_wired_link(router, sink, &wired(name, &direction(80), 1));
            } else {
                world.add_wireless_link(router, sink, &wireless(name, &direction(80), LinkLayer::UNRELIABLE));
            }
        }
        for number in 0..4 {
            for sink in sinks {
                world.inject(source, packet(&world, source, sink, number));
            }
        }
        world.advance_to(ms(2000));
        // One in transmission on each link, and two of 1,000 octets in 2,500.
        assert_eq!(sinks.map(|sink| arrived(&mut world, sink).len()), [2, 2]);
    }
}

#[test]
fn a_buffer_smaller_than_a_packet_lets_pass_what_need_not_wait() {
    let mut world = World::new(1);
    let source =
        world.add_node(NodeConfig { buffer: Some(10), ..NodeConfig::new("source", NodeKind::External) });
    let sink = node(&mut world, "sink", NodeKind::External);
    world.add_wired_link(source, sink, &wired("wire", &direction(8000), 1));
    for number in 0..3 {
        world.inject(source, packet(&world, source, sink, number));
    }
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, sink), [0]);
}

#[test]
fn a_node_takes_its_time_to_forward() {
    let mut world = World::new(1);
    let source = node(&mut world, "source", NodeKind::External);
    let router = world.add_node(NodeConfig {
        processing_delay: Duration::from_millis(5),
        ..NodeConfig::new("router", NodeKind::Router)
    });
    let sink = node(&mut world, "sink", NodeKind::External);
    world.add_wired_link(source, router, &wired("first", &direction(8000), 10));
    world.add_wired_link(router, sink, &wired("second", &direction(8000), 20));
    world.inject(source, packet(&world, source, sink, 1));
    world.inject(source, packet(&world, source, sink, 2));
    world.advance_to(ms(100));
    let arrivals: Vec<_> = world.collect(sink).iter().map(|(at, packet)| (*at, number(packet))).collect();
    assert_eq!(arrivals, [(ms(1 + 10 + 5 + 1 + 20), 1), (ms(2 + 10 + 5 + 1 + 20), 2)]);
}

#[test]
fn of_alternatives_the_shortest_is_taken_and_then_the_first() {
    // A ring of five: a - b - c - d - e - a. The delays tell which way a packet took.
    let mut world = World::new(1);
    let ring = ["a", "b", "c", "d", "e"].map(|name| node(&mut world, name, NodeKind::External));
    for (index, from) in ring.into_iter().enumerate() {
        let delay_ms = 10u64.pow(index as u32);
        world.add_wired_link(from, ring[(index + 1) % 5], &wired("", &direction(1_000_000), delay_ms));
    }
    for (to, delay_ms) in [(1, 1), (2, 11), (3, 11_000), (4, 10_000)] {
        let start = world.now();
        world.inject(ring[0], packet(&world, ring[0], ring[to], 1));
        world.advance_to(start + Duration::from_secs(100));
        let at = world.collect(ring[to])[0].0;
        assert_eq!(at.since(start).as_millis(), delay_ms, "to {to}");
    }
    let alone = node(&mut world, "alone", NodeKind::External);
    assert!(world.has_route(ring[0], ring[3]) && !world.has_route(ring[0], alone));
    world.inject(ring[0], packet(&world, ring[0], alone, 1));
    assert_eq!(world.accounts().dropped.get(&DropCause::NoRoute), Some(&1));
}

#[test]
fn a_lossy_link_loses_its_share() {
    for is_wired in [true, false] {
        let (mut world, [from, to]) =
            pair(&Direction { loss: percent(2.0).into(), ..direction(1_000_000) }, is_wired);
        let sent = 100_000;
        for number in 0..sent {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(Instant::from_secs(10));
        let lost = f64::from(sent) - arrived(&mut world, to).len() as f64;
        let (mean, deviation) = (f64::from(sent) * 0.02, (f64::from(sent) * 0.02 * 0.98).sqrt());
        assert!((lost - mean).abs() < 4.0 * deviation, "{lost} of {sent}");
        assert!(world.accounts().balance());
    }
}

#[test]
fn a_link_on_a_capacity_trace_carries_what_the_trace_does() {
    let trace = CapacityTrace::parse("3\n5\n5\n5\n14\n17\n40\n").expect("a good trace");
    let mean_bps = trace.mean_bps();
    let direction = Direction { capacity: Capacity::Trace(Arc::new(trace)), ..direction(1) };
    for is_wired in [true, false] {
        let (mut world, [from, to]) = pair(&direction, is_wired);
        // An odd size: packets share opportunities.
        for number in 0..5_000 {
            world.inject(from, sized_packet(&world, (from, to), number, 700));
        }
        world.advance_to(Instant::from_secs(100));
        let arrivals = world.collect(to);
        assert_eq!(arrivals.len(), 5_000);
        let seconds = arrivals.last().map_or(0.0, |(at, _)| at.as_secs_f64());
        let bps = 5_000.0 * 700.0 * 8.0 / seconds;
        assert!((bps / mean_bps - 1.0).abs() < 0.005, "{bps} for {mean_bps}");
    }
}
