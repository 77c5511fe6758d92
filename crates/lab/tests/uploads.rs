//! Uploads over one access point have the recorded throughput. The reproduction of AS-TCP's paper,
//! which claims more throughput than TCP's, would not detect a decrease.

use std::path::Path;

use lasthop_lab::compare;
use lasthop_lab::progress::Silent;
use lasthop_scenario::{Overrides, file};

/// Mbit/s over 10 s: stations, scheme, the mean of 20 seeds, and the standard deviation between
/// seeds.
///
/// `lasthop compare scenarios/uploads.toml --set nodes.station.count=40 --set "duration=10 s" --set seeds=20 --json`:
/// the `mean` of `goodput_bps`; its `ci95` is the deviation times 2.093 (Student's t of 19) over
/// the root of 20.
const GOLDEN: [(u32, &str, f64, f64); 8] = [
    (20, "none", 3.4353, 0.0140),
    (20, "i-tcp", 3.5390, 0.0127),
    (20, "as-tcp", 4.3977, 0.0280),
    (20, "as-tcp as published", 4.3946, 0.0243),
    (40, "none", 2.7465, 0.1236),
    (40, "i-tcp", 3.4426, 0.1181),
    (40, "as-tcp", 4.0562, 0.0681),
    (40, "as-tcp as published", 3.8355, 0.0531),
];

/// Runs for each mean in this test.
const SEEDS: f64 = 3.0;

#[test]
fn uploads_have_the_recorded_throughput() {
    for of_stations in GOLDEN.chunk_by(|one, next| one.0 == next.0) {
        let stations = of_stations[0].0;
        let settings =
            [format!("nodes.station.count={stations}"), "duration=10 s".to_owned(), format!("seeds={SEEDS}")];
        let overrides = Overrides { settings: settings.into(), ..Overrides::default() };
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/uploads.toml"));
        let scenario = file::read(path, &overrides).expect("ours");
        let rows = compare(&scenario, &Silent).expect("it runs").rows;
        assert_eq!(rows.len(), of_stations.len());
        for (row, &(_, scheme, mean, deviation)) in rows.iter().zip(of_stations) {
            assert_eq!(row.scheme, scheme);
            // Four standard errors of the difference of the two means: other seeds of the same
            // model exceed them once in 16,000 times.
            let tolerance = 4.0 * deviation * (1.0 / SEEDS + 1.0 / 20.0_f64).sqrt();
            let ours = row.goodput_bps.mean / 1e6;
            assert!(
                (ours - mean).abs() <= tolerance,
                "{scheme}, {stations} stations: {ours}; {mean} ± {tolerance}"
            );
        }
    }
}
