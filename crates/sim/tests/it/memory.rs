//! No allocation per packet, and no memory that grows with simulated time.

use std::time::Duration;

use allocation_counter::measure;
use lasthop_apps::traffic::{Beat, Constant};
use lasthop_packet::Instant;
use lasthop_sim::{Application, Delay, Distribution, NodeKind, Opening, Order, WiredConfig, World};
use lasthop_tcp::{AckPolicy, Config, Congestion, Recovery};

use crate::support::{direction, flow, node, percent, tcp_transport, udp_flow, wired};

#[path = "../../benches/worlds/mod.rs"]
mod worlds;

#[test]
fn the_steady_path_allocates_nothing() {
    let (mut world, flow) = worlds::wired();
    world.run(Instant::from_secs(20), false);
    let before = world.outcome(flow).octets;
    let allocations = measure(|| world.run(Instant::from_secs(60), false));
    let packets = (world.outcome(flow).octets - before) / u64::from(worlds::MSS);
    assert!(packets > 33_000, "{packets}");
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
}

#[test]
fn packets_that_overtake_each_other_allocate_nothing() {
    let mut world = World::new(5);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    let [min, max] = [5, 25].map(Duration::from_millis);
    let delay = Delay { order: Order::Overtake, ..Delay::from(Distribution::Uniform { min, max }) };
    let way = direction(10_000).delayed(delay);
    let link = WiredConfig { forward: way.clone(), backward: way.clone(), ..wired("wire", &way, 0) };
    world.add_wired_link(ends[0], ends[1], &link);
    let interval = Beat::Interval(Duration::from_millis(1));
    let constant = Constant { message: 1000, beat: interval, jitter: Duration::ZERO };
    let id = world.add_flow(udp_flow(&world, (ends[0], ends[1]), Application::Constant(constant)));
    world.run(Instant::from_secs(100), false);
    let before = world.outcome(id).octets;
    let allocations = measure(|| world.run(Instant::from_secs(200), false));
    assert!(world.outcome(id).octets - before > 99_000_000);
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
}

#[test]
fn memory_does_not_grow_with_simulated_time() {
    // Without an end, over a channel that fails: queues, caches and timers have seen their worst
    // after a while.
    let (mut world, _) = worlds::wireless_without_end();
    world.run(Instant::from_secs(500), false);
    let events = world.counters().events;
    let growth = measure(|| world.run(Instant::from_secs(5_000), false));
    assert!(world.counters().events > 8 * events);
    assert!(growth.bytes_current <= 4096, "{growth:?}");
    assert!(growth.count_total < 20, "{growth:?}");
}

/// Scoreboards, records of what was sent and filters are reused; over a link that loses one segment
/// in a hundred.
#[test]
fn no_flavour_of_tcp_allocates_a_packet() {
    for congestion in Congestion::ALL {
        for recovery in Recovery::ALL {
            let mut world = World::new(5);
            let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
            let mut link = wired("wire", &direction(10_000), 10);
            link.forward.loss = percent(1.0).into();
            world.add_wired_link(ends[0], ends[1], &link);
            let mut config = flow(&world, (ends[0], ends[1]), None);
            let ack_policy = AckPolicy::DynDelAck(Duration::from_millis(100));
            let tcp = Config { mss: 1000, sack: true, congestion, recovery, ack_policy, ..Config::default() };
            config.transport = tcp_transport(Opening::Established, &tcp);
            let id = world.add_flow(config);
            world.run(Instant::from_secs(300), false);
            let before = world.outcome(id).octets;
            let allocations = measure(|| world.run(Instant::from_secs(600), false));
            let packets = (world.outcome(id).octets - before) / 1000;
            // Vegas takes the 100 ms for which a receiver waits for four segments for a queue, and
            // stays at two segments.
            assert!(packets > 4_000, "{congestion:?} {recovery:?}: {packets}");
            assert!(allocations.count_total < 10, "{congestion:?} {recovery:?}: {allocations:?}");
        }
    }
}

#[test]
fn a_saturated_cell_allocates_nothing_per_frame() {
    for (mut world, _) in [worlds::wlan(20), worlds::wlan_in_turns(20)] {
        // Losses make TCP's tables grow now and then, less and less often.
        world.run(Instant::from_secs(700), false);
        let before = world.counters().frames_sent;
        let growth = measure(|| world.run(Instant::from_secs(1_000), false));
        assert!(world.counters().frames_sent - before > 100_000);
        assert!(growth.bytes_current <= 8192 && growth.count_total < 40, "{growth:?}");
    }
}
