//! No allocation per packet, and no memory that grows with simulated time.

use allocation_counter::measure;
use lasthop_packet::Instant;

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
fn memory_does_not_grow_with_simulated_time() {
    // Without an end, over a channel that fails: queues, caches and timers have seen their worst after a while.
    let (mut world, _) = worlds::wireless_without_end();
    world.run(Instant::from_secs(500), false);
    let events = world.counters().events;
    let growth = measure(|| world.run(Instant::from_secs(5_000), false));
    assert!(world.counters().events > 8 * events);
    assert!(growth.bytes_current <= 4096, "{growth:?}");
    assert!(growth.count_total < 20, "{growth:?}");
}

#[test]
fn a_saturated_cell_allocates_nothing_per_frame() {
    let (mut world, _) = worlds::wlan(20);
    world.run(Instant::from_secs(100), false);
    let before = world.counters().frames_sent;
    let growth = measure(|| world.run(Instant::from_secs(400), false));
    assert!(world.counters().frames_sent - before > 100_000);
    // Losses make TCP's tables grow now and then.
    assert!(growth.bytes_current <= 8192 && growth.count_total < 400, "{growth:?}");
}
