//! Reno against what is known of it on paper.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{Direction, NodeKind, World};
use lasthop_tcp::Config;

use crate::support::{direction, flow, node, percent, wired};

const MSS: u32 = 1000;

/// Goodput in segments a second of one Reno flow over one link: a rate, a one-way delay, a loss probability of data.
fn segments_a_second(kbps: u64, delay_ms: u64, loss_percent: f64, window: u32, seconds: u64) -> f64 {
    let mut world = World::new(11);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    let mut config = wired("wire", &direction(kbps), delay_ms);
    config.forward = Direction { loss: percent(loss_percent), ..direction(kbps) };
    world.add_wired_link(ends[0], ends[1], &config);
    let mut config = flow(&mut world, (ends[0], ends[1]), None);
    let tcp = Config { mss: MSS, window: window * MSS, initial_ssthresh: window * MSS, ..Config::default() };
    (config.sender, config.receiver) = (tcp.clone(), tcp);
    let id = world.add_flow(config);
    // Slow start does not count.
    world.run(Instant::from_secs(20), false);
    let before = world.outcome(id).octets;
    world.run(Instant::from_secs(20 + seconds), false);
    let outcome = world.outcome(id);
    assert!(outcome.intact && world.accounts().balance());
    (outcome.octets - before) as f64 / f64::from(MSS) / seconds as f64
}

#[test]
fn without_loss_goodput_is_window_over_round_trip_time_or_the_bottleneck() {
    for (kbps, delay_ms, window) in [(8000, 50, 20), (8000, 50, 60), (8000, 50, 110), (800, 100, 200)] {
        // A segment's 1,040 octets and the ACK's 40 go over the link.
        let rate = kbps as f64 * 1000.0 / (8.0 * 1040.0);
        let round_trip = 2.0 * delay_ms as f64 / 1000.0 + (1040.0 + 40.0) * 8.0 / (kbps as f64 * 1000.0);
        let expected = rate.min(f64::from(window) / round_trip);
        let measured = segments_a_second(kbps, delay_ms, 0.0, window, 100);
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured} for {expected}");
    }
}

/// Padhye, Firoiu, Towsley and Kurose (1998), equation 30 without the window's limit: segments a second.
fn pftk(loss: f64, round_trip: Duration, timeout: Duration) -> f64 {
    // Segments that one ACK covers.
    let b = 1.0;
    let fast = round_trip.as_secs_f64() * (2.0 * b * loss / 3.0).sqrt();
    let slow = (3.0 * (3.0 * b * loss / 8.0).sqrt()).min(1.0) * loss * (1.0 + 32.0 * loss * loss);
    1.0 / (fast + timeout.as_secs_f64() * slow)
}

#[test]
fn goodput_under_uniform_loss_is_that_of_the_formula() {
    for loss_percent in [0.1, 0.2, 0.5, 1.0, 2.0, 5.0] {
        let measured = segments_a_second(1_000_000, 50, loss_percent, 1000, 20_000);
        let expected = pftk(loss_percent / 100.0, Duration::from_millis(100), Duration::from_secs(1));

        assert!((measured / expected - 1.0).abs() < 0.15, "{loss_percent}%: {measured} for {expected}");
    }
}
