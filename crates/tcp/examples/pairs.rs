//! How long a data segment and its ACK take on the steady path.
//!
//! ```text
//! cargo run --release -p lasthop-tcp --example pairs
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "this measures the machine, not a simulation"
)]

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};
use lasthop_tcp::{Config, Connection};

const PAIRS: u64 = 20_000_000;

fn main() {
    for (name, timestamps, window) in [("plain", false, 65_535), ("timestamps, 1 MiB window", true, 1 << 20)]
    {
        let config = Config { timestamps, window, sack: timestamps, ..Config::default() };
        let nanos = measure(&config);
        println!("{name}: {nanos:.0} ns a data/ACK pair, {:.1} million a second", 1e3 / nanos);
    }
}

fn measure(config: &Config) -> f64 {
    let (a, b) = ((IpAddr::from([10, 0, 0, 1]), 1), (IpAddr::from([10, 0, 0, 2]), 2));
    let mut sender = Connection::established(config.clone(), config, a, b, Seq(1), Seq(1));
    let mut receiver = Connection::established(config.clone(), config, b, a, Seq(1), Seq(1));
    sender.write_stream(1, 0, u64::MAX / 2);
    let mut now = Instant::ZERO;
    let begin = std::time::Instant::now();
    let mut pairs = 0;
    while pairs < PAIRS {
        now += Duration::from_micros(100);
        while let Some(data) = sender.poll_transmit(now) {
            receiver.on_segment(&data, now);
            while receiver.read().is_some() {}
            while let Some(ack) = receiver.poll_transmit(now) {
                sender.on_segment(&ack, now);
                pairs += 1;
            }
            if pairs % 40 == 0 {
                break;
            }
        }
    }
    assert_eq!(sender.stats().retransmits, 0);
    begin.elapsed().as_nanos() as f64 / pairs as f64
}
