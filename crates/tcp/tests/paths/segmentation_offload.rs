//! Segmentation offload over a path of 10 Mbit/s and a round trip of 52 ms.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{Config, Congestion, SlowStart};

use crate::path::{Hop, Path};

#[test]
fn a_window_grows_if_it_is_full_except_for_waiting_segments() {
    for congestion in Congestion::ALL {
        let run = |segmentation_offload| {
            let config = Config {
                congestion,
                segmentation_offload,
                slow_start: SlowStart::Standard,
                initial_ssthresh: 10 * 1448,
                window: 1 << 20,
                window_max: None,
                ..Config::linux()
            };
            let hops = [(10_000_000, 25), (100_000_000, 1)];
            let hops = hops.map(|(rate, delay)| Hop::new(rate, Duration::from_millis(delay)));
            let mut path = Path::new(&config, hops);
            path.run_until(Instant::from_secs(10));
            path.sender.stats().octets_acknowledged
        };
        let (with, without) = (run(true), run(false));
        assert!(with * 100 > without * 97, "{congestion:?}: {with} and {without} octets");
    }
}
