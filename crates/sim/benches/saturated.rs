//! What an exchange costs when stations are saturated: `cargo bench -p lasthop-sim --bench saturated`. The throughput is in exchanges
//! (attempts, failed ones among them).

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lasthop_agent::Fate;
use lasthop_packet::Instant;
use lasthop_sim::wifi::{
    Frame, Output, Position, Propagation, Receiver, Standard, StationConfig, Wlan, WlanConfig,
};

const SECONDS: u64 = 20;

fn cell(stations: u32, config: WlanConfig) -> (Wlan, Frame) {
    let mut wlan = Wlan::new(config, 1);
    let sink = wlan.add_station(&StationConfig::default());
    let frame = Frame { to: Receiver::Station(sink), key: 0, octets: 1500 };
    let senders: Vec<_> = (0..stations)
        .map(|number| {
            let position = Position::new(f64::from(number), 0.0);
            wlan.add_station(&StationConfig { position, ..StationConfig::default() })
        })
        .collect();
    for sender in senders {
        wlan.enqueue(Instant::ZERO, sender, frame);
        wlan.enqueue(Instant::ZERO, sender, frame);
    }
    (wlan, frame)
}

fn run((mut wlan, frame): (Wlan, Frame)) -> u64 {
    let end = Instant::from_secs(SECONDS);
    while let Some(now) = wlan.next_event_at().filter(|now| *now <= end) {
        wlan.on_event(now);
        let mut outputs = wlan.take_outputs();
        for output in outputs.drain(..) {
            if let Output::Fate { from, fate: Fate::Delivered | Fate::GivenUp, .. } = output {
                wlan.enqueue(now, from, frame);
            }
        }
        wlan.give_back(outputs);
    }
    wlan.counters().attempts
}

fn saturated(c: &mut Criterion) {
    let mut group = c.benchmark_group("saturated 802.11b");
    group.sample_size(10);
    let clique = WlanConfig::new(Standard::HrDsss);
    let by_frame = WlanConfig { settle: false, ..clique.clone() };
    let ranges = Propagation::Ranges { reception: 500.0, carrier_sense: 1000.0 };
    // Positions are a metre apart, and everybody is a domain of its own: capture asks where one stands.
    let capture = Some(lasthop_sim::wifi::Capture { threshold: 10.0, later_frames: false });
    let alone = WlanConfig { propagation: ranges, capture, ..clique.clone() };
    for (name, config) in
        [("clique", clique), ("clique, frame by frame", by_frame), ("domains of one", alone)]
    {
        for stations in [1, 5, 20, 50, 100] {
            group.throughput(Throughput::Elements(run(cell(stations, config.clone()))));
            group.bench_function(BenchmarkId::new(name, stations), |bencher| {
                bencher.iter_batched(|| cell(stations, config.clone()), run, BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, saturated);
criterion_main!(benches);
