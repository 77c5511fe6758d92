//! Benchmark of the engine, frame by frame: `cargo bench -p lasthop-gateway --bench gateway`.

#[path = "engine/mod.rs"]
mod cases;

use std::time::Duration;

use cases::Bench;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn engine(criterion: &mut Criterion) {
    for (scheme, flows) in
        [("snoop", 10), ("snoop", 1_000), ("snoop", 10_000), ("snoop", 100_000), ("none", 10)]
    {
        let mut bench = Bench::new(flows, scheme);
        let mut group = criterion.benchmark_group(format!("engine, {scheme}, {flows} flows"));
        group.throughput(Throughput::Elements(128)).warm_up_time(Duration::from_secs(1));
        group.measurement_time(Duration::from_secs(3)).sample_size(20);
        let bench = std::cell::RefCell::new(&mut bench);
        group.bench_function("64 data segments and their ACKs", |bencher| {
            bencher.iter_batched(
                || (0..2).map(|_| bench.borrow_mut().batch()).collect::<Vec<_>>(),
                |batches| batches.into_iter().for_each(|frames| bench.borrow_mut().pass(frames)),
                // Created just before: a frame that was just read is in the cache as well.
                BatchSize::PerIteration,
            );
        });
        group.throughput(Throughput::Elements(6));
        group.bench_function("a short connection", |bencher| {
            bencher.iter_batched(
                || bench.borrow_mut().short(),
                |frames| bench.borrow_mut().pass(frames),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
