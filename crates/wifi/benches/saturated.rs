//! What an exchange costs when stations are saturated: `cargo bench -p lasthop-wifi --bench
//! saturated`. The throughput is in exchanges (attempts, failed ones among them).

#[path = "cells/mod.rs"]
mod cells;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lasthop_wifi::{Propagation, Standard, WlanConfig};

use cells::{cell, run};

const SECONDS: u64 = 20;

fn saturated(c: &mut Criterion) {
    let mut group = c.benchmark_group("saturated 802.11b");
    group.sample_size(10);
    let clique = WlanConfig::new(Standard::HrDsss);
    let by_frame = WlanConfig { settle: false, ..clique.clone() };
    let ranges = Propagation::Ranges { reception: 500.0, carrier_sense: 1000.0 };
    // Positions are a metre apart, and everybody is a domain of its own: capture asks where one
    // stands.
    let capture = Some(lasthop_wifi::Capture { threshold: 10.0, later_frames: false });
    let alone = WlanConfig { propagation: ranges, capture, ..clique.clone() };
    for (name, config) in
        [("clique", clique), ("clique, frame by frame", by_frame), ("domains of one", alone)]
    {
        for stations in [1, 5, 20, 50, 100] {
            group.throughput(Throughput::Elements(run(cell(stations, config.clone()), SECONDS)));
            group.bench_function(BenchmarkId::new(name, stations), |bencher| {
                bencher.iter_batched(
                    || cell(stations, config.clone()),
                    |cell| run(cell, SECONDS),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, saturated);
criterion_main!(benches);
