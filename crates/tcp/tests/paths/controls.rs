//! Congestion controls over one bottleneck of their own: 0.8 Mbit/s, a round trip of 212 ms,
//! 960-octet segments.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{AckPolicy, Config, Congestion, Recovery};

use crate::path::{Hop, Path};

const MSS: u32 = 960;
/// What the bottleneck carries of data, in octets a second.
const RATE: f64 = 100_000.0 * 960.0 / 1000.0;

fn path(slow_start_segments: u32, config: &Config) -> Path {
    let initial_ssthresh = slow_start_segments * MSS;
    let config = Config { mss: MSS, window: 1 << 20, initial_ssthresh, ..config.clone() };
    let hops =
        [Hop::new(8_000_000, Duration::from_micros(100)), Hop::new(800_000, Duration::from_millis(100))];
    Path::new(&config, hops)
}

/// Brakmo and Peterson 1995, section III.B: between alpha = 1 and beta = 3 segments of its own in
/// the path's queues.
#[test]
fn vegas_holds_alpha_to_beta_segments_in_the_queue_and_fills_the_link() {
    for recovery in Recovery::ALL {
        let mut path =
            path(1000, &Config { congestion: Congestion::Vegas, recovery, sack: true, ..Config::default() });
        path.run_until(Instant::from_secs(60));
        let acknowledged = path.sender.stats().octets_acknowledged;
        path.run_until(Instant::from_secs(90));
        let goodput = (path.sender.stats().octets_acknowledged - acknowledged) as f64 / 30.0;
        assert!(goodput > 0.999 * RATE, "{goodput} of {RATE}");
        let queues: Vec<usize> =
            (60_000..90_000).step_by(7).map(|at| path.queue_at(Instant::from_millis(at))).collect();
        let mean = queues.iter().sum::<usize>() as f64 / queues.len() as f64;
        let (least, most) = (queues.iter().min(), queues.iter().max());
        assert!(least >= Some(&1) && most <= Some(&3), "{least:?} to {most:?}, {mean} in the mean");
        assert_eq!((path.sender.stats().retransmits, path.sender.stats().timeouts), (0, 0));
    }
}

/// Section III.C: slow start ends before the queue is long; Reno's would fill it with a window's
/// worth.
#[test]
fn vegas_ends_slow_start_before_it_has_filled_the_queue() {
    let longest = |congestion| {
        let mut path = path(1000, &Config { congestion, ..Config::default() });
        path.run_until(Instant::from_secs(10));
        (0..10_000).map(|at| path.queue_at(Instant::from_millis(at))).max()
    };
    let (vegas, reno) = (longest(Congestion::Vegas), longest(Congestion::Reno));
    assert!(vegas <= Some(12), "{vegas:?}: half the window of an empty path");
    assert!(reno >= Some(200), "{reno:?}");
}

/// Mascolo et al. 2001, section 3.1: after a loss on an uncongested path ssthresh is the
/// bandwidth-delay product, so that no rate is lost. The queue was long before the loss: the window
/// comes down to the product, not to its half.
#[test]
fn westwood_sets_the_window_to_the_link_rate_times_the_minimum_round_trip() {
    let policies = [
        AckPolicy::EverySegment,
        AckPolicy::Delayed(Duration::from_millis(200)),
        AckPolicy::DynDelAck(Duration::from_millis(100)),
    ];
    for ack_policy in policies {
        let mut path = path(
            40,
            &Config {
                congestion: Congestion::Westwood,
                recovery: Recovery::NewReno,
                ack_policy,
                ..Config::default()
            },
        );
        path.drops = vec![1500];
        path.run_until(Instant::from_secs(40));
        let stats = path.sender.stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 1), "{ack_policy:?}");
        let expected = RATE * 0.2118;
        let ssthresh = f64::from(path.sender.flight().ssthresh);
        // BWE within 5% of the link's rate.
        assert!((ssthresh / expected - 1.0).abs() < 0.05, "{ack_policy:?}: {ssthresh} for {expected}");
    }
}

/// RFC 9438, section 4.6: one loss takes three tenths of the window, not half.
#[test]
fn cubic_continues_with_seven_tenths_of_the_window() {
    let mut path = path(
        40,
        &Config { congestion: Congestion::Cubic, recovery: Recovery::Sack, sack: true, ..Config::default() },
    );
    path.drops = vec![1500];
    let mut before = 0;
    while path.sender.stats().fast_retransmits == 0 {
        before = path.sender.flight().cwnd;
        let end = path.now + Duration::from_millis(1);
        path.run_until(end);
        assert!(path.now < Instant::from_secs(60), "nothing is lost");
    }
    let ratio = f64::from(path.sender.flight().ssthresh) / f64::from(before);
    assert!((ratio - 0.7).abs() < 0.01, "{ratio}");
    path.run_until(Instant::from_secs(60));
    assert_eq!((path.sender.stats().timeouts, path.sender.stats().retransmits), (0, 1));
}

/// For docs/src/validation/tcp.md: `cargo test -p lasthop-tcp --test paths figures -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints, checks nothing"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn figures() {
    let mut vegas = path(1000, &Config { congestion: Congestion::Vegas, ..Config::default() });
    vegas.run_until(Instant::from_secs(90));
    let queue: usize = (60_000..90_000).map(|at| vegas.queue_at(Instant::from_millis(at))).sum();
    let longest = (0..90_000).map(|at| vegas.queue_at(Instant::from_millis(at))).max();
    println!("Vegas: {:.2} segments wait in the mean, {longest:?} at most", queue as f64 / 30_000.0);
    for millis in [0, 200] {
        let ack_policy = match millis {
            0 => AckPolicy::EverySegment,
            _ => AckPolicy::Delayed(Duration::from_millis(millis)),
        };
        let recovery = Recovery::NewReno;
        let config = Config { congestion: Congestion::Westwood, recovery, ack_policy, ..Config::default() };
        let mut westwood = path(40, &config);
        westwood.drops = vec![1500];
        westwood.run_until(Instant::from_secs(40));
        let ratio = f64::from(westwood.sender.flight().ssthresh) / (RATE * 0.2118);
        println!("Westwood, {ack_policy:?}: {ratio:.3} of rate times least round trip");
    }
}
