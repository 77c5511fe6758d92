//! How fast the worlds of `worlds/mod.rs` run: `cargo bench -p lasthop-sim`. The throughput is in
//! data packets delivered.

#[path = "worlds/mod.rs"]
mod cases;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lasthop_packet::Instant;

/// Simulated seconds an iteration: the connection's start counts for little.
const WIRED_SECONDS: u64 = 50;
const WLAN_SECONDS: u64 = 50;

fn wired(c: &mut Criterion) {
    let end = Instant::from_secs(WIRED_SECONDS);
    let (mut world, flow) = cases::wired();
    world.run(end, false);
    let packets = world.outcome(flow).octets / u64::from(cases::MSS);
    let mut group = c.benchmark_group("wired");
    group.throughput(Throughput::Elements(packets));
    group.bench_function("one Reno flow", |bencher| {
        bencher.iter_batched(cases::wired, |(mut world, _)| world.run(end, false), BatchSize::PerIteration);
    });
    group.finish();
}

fn wireless(c: &mut Criterion) {
    let mut group = c.benchmark_group("wireless");
    group.throughput(Throughput::Elements(10_000));
    group.bench_function("the thesis's transfer of 10 MB", |bencher| {
        let run = |(mut world, _): (lasthop_sim::World, _)| world.run(Instant::from_secs(20_000), true);
        bencher.iter_batched(cases::wireless, run, BatchSize::PerIteration);
    });
    group.finish();
}

fn wlan(c: &mut Criterion) {
    type Case = fn(u32) -> (lasthop_sim::World, Vec<lasthop_sim::FlowId>);
    let end = Instant::from_secs(WLAN_SECONDS);
    let mut group = c.benchmark_group("802.11b");
    group.sample_size(20);
    let cases: [(&str, Case, u32); 4] = [
        ("uploads", cases::wlan, 1),
        ("uploads", cases::wlan, 20),
        ("uploads", cases::wlan, 50),
        ("uploads of stations that doze", cases::dozing_wlan, 50),
    ];
    for (name, case, stations) in cases {
        let (mut world, flows) = case(stations);
        world.run(end, false);
        let octets: u64 = flows.iter().map(|flow| world.outcome(*flow).octets).sum();
        group.throughput(Throughput::Elements(octets / u64::from(cases::MSS)));
        group.bench_function(format!("{name}: {stations}"), |bencher| {
            let run = |(mut world, _): (lasthop_sim::World, _)| world.run(end, false);
            bencher.iter_batched(|| case(stations), run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(worlds, wired, wireless, wlan);
criterion_main!(worlds);
