//! What stations that doze cost beside stations that are awake: `cargo bench -p lasthop-wifi --bench
//! dozing`. The throughput is in packets delivered.

#[path = "cells/mod.rs"]
mod cells;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use cells::{run_sparse, sparse};

const SECONDS: u64 = 100;

fn dozing(c: &mut Criterion) {
    let mut group = c.benchmark_group("802.11b, four packets a second for each station");
    group.sample_size(20);
    for stations in [1, 10, 50] {
        for (name, dozes) in [("awake", false), ("dozing", true)] {
            group.throughput(Throughput::Elements(run_sparse(sparse(stations, dozes), SECONDS)));
            group.bench_function(BenchmarkId::new(name, stations), |bencher| {
                bencher.iter_batched(
                    || sparse(stations, dozes),
                    |cell| run_sparse(cell, SECONDS),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, dozing);
criterion_main!(benches);
