//! BBR over one bottleneck of 20 Mbit/s and a round trip of 50 ms, as Linux would have the rest.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{Config, Congestion, PacingRule};

use crate::path::{Hop, Path};

/// What the bottleneck carries of data, in octets a second.
const RATE: f64 = 2_500_000.0 * 1448.0 / 1488.0;
/// Segments that fill the path.
const PRODUCT: usize = 83;

fn path(config: &Config) -> Path {
    let config = Config { window: 4 << 20, window_max: None, ..config.clone() };
    let hops =
        [Hop::new(1_000_000_000, Duration::from_millis(20)), Hop::new(20_000_000, Duration::from_millis(5))];
    Path::new(&config, hops)
}

fn bbr(congestion: Congestion) -> Path {
    path(&Config { congestion, ..Config::linux() })
}

/// Loses `percent` of the segments, the first time that they are sent.
fn lose(path: &mut Path, percent: u64) {
    let mut state: u64 = 12_345;
    path.drops = (0..60_000)
        .filter(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        })
        .collect();
}

/// Octets a second that are acknowledged between two times.
fn goodput(path: &mut Path, from: u64, to: u64) -> f64 {
    path.run_until(Instant::from_secs(from));
    let before = path.sender.stats().octets_acknowledged;
    path.run_until(Instant::from_secs(to));
    (path.sender.stats().octets_acknowledged - before) as f64 / (to - from) as f64
}

fn mean_queue(path: &Path, from: u64, to: u64) -> f64 {
    let times = (from * 1000..to * 1000).step_by(7);
    let queues: Vec<usize> = times.map(|at| path.queue_at(Instant::from_millis(at))).collect();
    queues.iter().sum::<usize>() as f64 / queues.len() as f64
}

#[test]
fn a_bbr_flow_fills_the_link_and_keeps_a_short_queue() {
    for congestion in [Congestion::Bbr, Congestion::Bbr3] {
        let mut path = bbr(congestion);
        let goodput = goodput(&mut path, 2, 9);
        let queue = mean_queue(&path, 2, 9);
        assert!(goodput > 0.95 * RATE, "{congestion:?}: {goodput} of {RATE}");
        assert!(queue < PRODUCT as f64 / 4.0, "{congestion:?}: {queue} segments");
        assert_eq!(path.sender.stats().retransmits, 0);
    }
}

#[test]
fn random_loss_costs_bbr_little_more_than_the_lost_segments() {
    for (percent, share) in [(1, 0.97), (4, 0.97), (8, 0.97), (15, 0.85)] {
        let mut path = bbr(Congestion::Bbr);
        lose(&mut path, percent);
        let goodput = goodput(&mut path, 2, 9);
        let left = 1.0 - percent as f64 / 100.0;
        assert!(goodput > share * left * RATE, "{percent}%: {goodput} of {RATE}");
        assert_eq!(path.sender.stats().timeouts, 0, "{percent}%");
    }
    let mut path = bbr(Congestion::Bbr3);
    lose(&mut path, 1);
    assert!(goodput(&mut path, 2, 9) > 0.75 * RATE, "below 2% the losses are no congestion");
}

#[test]
fn segments_are_sent_in_bursts_of_a_millisecond_at_the_rate() {
    let mut path = bbr(Congestion::Bbr);
    path.run_until(Instant::from_secs(5));
    let sent: Vec<Instant> =
        path.sent.iter().map(|sent| sent.at).filter(|at| *at > Instant::from_secs(3)).collect();
    let mut bursts: Vec<usize> = sent.chunk_by(|a, b| a == b).map(<[Instant]>::len).collect();
    bursts.sort_unstable();
    // 2.4 octets a microsecond, times 5/4, for a millisecond: two segments.
    assert_eq!(bursts.last(), Some(&2));
    assert!(bursts.iter().filter(|burst| **burst == 2).count() * 10 > bursts.len() * 9, "most of them");
}

#[test]
fn the_round_trip_time_is_probed_after_ten_seconds() {
    let mut path = bbr(Congestion::Bbr);
    path.run_until(Instant::from_secs(5));
    let is_probing = |path: &Path| path.sender.flight().cwnd <= 4 * path.sender.flight().mss;
    let mut begins = Vec::new();
    let (mut was_probing, mut millis) = (false, 5000);
    while millis < 26_000 {
        millis += 10;
        path.run_until(Instant::from_millis(millis));
        if is_probing(&path) && !was_probing {
            begins.push(millis);
        }
        was_probing = is_probing(&path);
    }
    assert_eq!(begins.len(), 2, "{begins:?}");
    assert!(
        (9900..11_500).contains(&begins[0]) && (10_000..10_700).contains(&(begins[1] - begins[0])),
        "{begins:?}"
    );
}

#[test]
fn fair_queueing_spreads_a_window_over_the_round_trip() {
    let longest = |pacing| {
        let mut path = path(&Config { pacing, initial_ssthresh: 60 * 1448, ..Config::linux() });
        path.run_until(Instant::from_secs(1));
        (0..500).map(|at| path.queue_at(Instant::from_millis(at))).max()
    };
    let (bursts, spread) = (longest(PacingRule::Control), longest(PacingRule::Fq));
    assert!(spread < bursts && spread <= Some(10), "{spread:?} of {bursts:?}");
}

/// For docs/src/validation/tcp.md: `cargo test -p lasthop-tcp --test paths bbr::figures -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints, checks nothing"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn figures() {
    for congestion in [Congestion::Bbr, Congestion::Bbr3, Congestion::CubicLinux] {
        for percent in [0, 1, 2, 4, 8, 15] {
            let mut path = bbr(congestion);
            lose(&mut path, percent);
            let share = 100.0 * goodput(&mut path, 5, 25) / RATE;
            let queue = mean_queue(&path, 5, 25);
            println!("{congestion:?}, {percent}%: {share:.1}% of the link, {queue:.1} segments wait");
        }
    }
}

// A full send buffer takes no more from the application: `tcp_rate_check_app_limited` finds less
// than a segment that was not sent.
#[test]
fn a_send_buffer_is_a_limit_of_the_application() {
    for send_window in [Some(20 * 1448), None] {
        let mut path = path(&Config { congestion: Congestion::Bbr, send_window, ..Config::linux() });
        path.run_until(Instant::from_secs(2));
        assert_eq!(path.sender.queue().is_application_limited(), send_window.is_some());
    }
}
