//! BBR over one bottleneck.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{Config, Congestion};

use crate::path::{Hop, Path};

fn path(congestion: Congestion, config: &Config) -> Path {
    let config = Config { congestion, window: 4 << 20, window_max: None, ..config.clone() };
    let hops =
        [Hop::new(1_000_000_000, Duration::from_millis(20)), Hop::new(20_000_000, Duration::from_millis(5))];
    Path::new(&config, hops)
}

#[test]
#[ignore = "prints, checks nothing"]
fn figures() {
    for congestion in [Congestion::Bbr, Congestion::Bbr3, Congestion::CubicLinux] {
        for loss in [0, 1, 4, 8, 15] {
            let mut path = path(congestion, &Config::linux());
            let mut x: u64 = 12345;
            path.drops = (0..100_000)
                .filter(|_| {
                    x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (x >> 33) % 100 < loss
                })
                .collect();
            path.run_until(Instant::from_secs(5));
            let before = path.sender.stats().octets_acknowledged;
            path.run_until(Instant::from_secs(25));
            let goodput = (path.sender.stats().octets_acknowledged - before) as f64 * 8.0 / 20e6;
            let queue: usize = (5000..25_000).map(|at| path.queue_at(Instant::from_millis(at))).sum();
            println!(
                "{congestion:?} {loss}%: {goodput:.2} Mbit/s, queue {:.1}, {:?}",
                queue as f64 / 20_000.0,
                path.sender.stats()
            );
        }
    }
}
