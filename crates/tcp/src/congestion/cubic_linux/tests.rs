use lasthop_packet::Seq;

use super::*;

const MSS: u32 = 1000;

/// A sender whose window is always in use.
struct Run {
    control: CubicLinux,
    flight: Flight,
    now: Instant,
}

impl Run {
    fn new(window: u32, ssthresh: u32) -> Self {
        let (una, cwnd) = (Seq(0), window * MSS);
        let sent = una + cwnd;
        let (peer_window, mss) = (1 << 30, MSS);
        let flight = Flight { una, nxt: sent, max: sent, peer_window, mss, cwnd, ssthresh: ssthresh * MSS };
        Self { control: CubicLinux::default(), flight, now: Instant::from_secs(10) }
    }

    /// Acknowledges a window of segments, one by one, evenly over a round trip.
    fn round(&mut self, rtt_ms: u64) {
        let window = self.flight.cwnd / MSS;
        let rtt = Some(Duration::from_millis(rtt_ms));
        for _ in 0..window {
            self.now += Duration::from_millis(rtt_ms) / window;
            let outstanding = self.flight.cwnd;
            let ack = AckSample { now: self.now, acked: MSS, outstanding, rtt, srtt: rtt, rate: None };
            self.control.on_ack(&ack, &mut self.flight);
        }
    }

    fn lose(&mut self) {
        let reduction = self.control.on_loss(&self.flight);
        (self.flight.cwnd, self.flight.ssthresh) = (reduction.cwnd, reduction.ssthresh);
    }

    fn window(&self) -> u32 {
        self.flight.cwnd / MSS
    }
}

#[test]
fn a_loss_leaves_seven_tenths_of_the_window_and_at_least_two_segments() {
    for (window, left) in [(100, 70), (10, 7), (5, 3), (3, 2), (2, 2)] {
        let mut run = Run::new(window, 1);
        run.lose();
        assert_eq!((run.window(), run.flight.ssthresh), (left, left * MSS), "{window}");
    }
}

#[test]
fn the_curve_returns_to_the_plateau_after_k_seconds() {
    // The cube root of 30 / 0.4 is 4.2 s; round trips are too long for Reno's window to be larger.
    let mut run = Run::new(100, 1);
    run.lose();
    let start = run.now;
    while run.now.since(start) < Duration::from_millis(4200) {
        run.round(200);
        assert!(run.window() <= 100);
    }
    assert!(run.window() >= 98, "{}", run.window());
    for _ in 0..15 {
        run.round(200);
    }
    assert!(run.window() > 105, "beyond the plateau it gets steeper: {}", run.window());
}

#[test]
fn with_short_round_trips_the_window_grows_by_eight_fifteenths_of_a_segment_a_round() {
    let mut run = Run::new(20, 1);
    run.lose();
    let before = run.window();
    for _ in 0..60 {
        run.round(10);
    }
    let grown = run.window() - before;
    assert!((28..=34).contains(&grown), "60 rounds are 32 segments: {grown}");
}

#[test]
fn before_the_first_loss_the_window_grows_by_a_twentieth_a_round() {
    let mut run = Run::new(100, 1);
    run.round(5);
    assert_eq!(run.window(), 105);
}

#[test]
fn congestion_avoidance_counts_the_segments_of_an_ack_above_ssthresh() {
    let mut run = Run::new(10, 12);
    let ack =
        AckSample { now: run.now, acked: 5 * MSS, outstanding: 10 * MSS, rtt: None, srtt: None, rate: None };
    run.control.on_ack(&ack, &mut run.flight);
    assert_eq!(run.window(), 12, "three segments are counted in congestion avoidance");
    assert_eq!(run.control.acked, 3);
}

#[test]
fn fast_convergence_lowers_the_plateau_if_the_window_did_not_return_to_it() {
    let mut run = Run::new(100, 1);
    run.lose();
    run.lose();
    assert_eq!((run.window(), run.control.last_max), (49, 70 * (1024 + 717) / 2048));
}

#[test]
fn a_time_out_resets_the_plateau() {
    let mut run = Run::new(100, 1);
    run.lose();
    run.control.on_timeout(&mut run.flight);
    assert_eq!((run.window(), run.flight.ssthresh), (1, 49 * MSS));
    assert_eq!(run.control.last_max, 0);
}

/// The windows of Linux: `bictcp_update`, `cubictcp_cong_avoid` and `tcp_cong_avoid_ai`, calculated
/// with integers and a clock of 1 ms (a few lines of Python), for ACKs that arrive evenly over each
/// round trip.
#[test]
fn windows_are_those_of_the_kernels_formulas() {
    // Window before the losses, consecutive losses, round trip in ms, rounds between the windows
    // listed, and these windows.
    let table: [(u32, u32, u64, u32, &[u32]); 5] = [
        (100, 1, 100, 10, &[70, 87, 97, 100, 100, 100, 102, 109, 122, 144, 177, 224, 288]),
        (200, 1, 40, 25, &[140, 169, 186, 196, 200, 206, 219, 232, 246, 259, 272, 286, 319]),
        (40, 2, 100, 10, &[19, 24, 29, 34, 40, 45, 50, 69, 102, 150, 215, 299, 404]),
        (20, 0, 20, 5, &[20, 25, 32, 41, 52, 66, 85, 108, 138]),
        (30, 1, 10, 50, &[21, 46, 72, 98, 125, 152, 177, 205, 231, 257, 285, 311, 337]),
    ];
    for (window, losses, rtt, rounds, expected) in table {
        let mut run = Run::new(window, 1);
        (0..losses).for_each(|_| run.lose());
        let mut got = vec![run.window()];
        while got.len() < expected.len() {
            (0..rounds).for_each(|_| run.round(rtt));
            got.push(run.window());
        }
        let is_near = got.iter().zip(expected).all(|(got, expected)| got.abs_diff(*expected) <= 1);
        assert!(is_near, "{window} segments, {losses} losses, {rtt} ms\n   {got:?}\nnot {expected:?}");
    }
}

#[test]
fn the_time_of_the_curve_does_not_advance_during_a_pause() {
    let windows = |pause: Duration| {
        let mut run = Run::new(100, 1);
        run.lose();
        (0..10).for_each(|_| run.round(100));
        let Run { control, flight, now } = &mut run;
        let segment =
            |now: Instant| SentSegment { now, seq: Seq(0), end: Seq(MSS), is_retransmission: false };
        control.on_sent(&segment(*now));
        flight.una = flight.max;
        let ack = AckSample { now: *now, acked: 0, outstanding: MSS, rtt: None, srtt: None, rate: None };
        control.on_other_ack(&ack, flight);
        *now += pause;
        control.on_sent(&segment(*now));
        (0..10)
            .map(|_| {
                run.round(100);
                run.window()
            })
            .collect::<Vec<_>>()
    };
    // With a pause, the curve is recalculated right after it; without one, a few ACKs later.
    let (with, without) = (windows(Duration::from_secs(600)), windows(Duration::ZERO));
    assert!(with.iter().zip(&without).all(|(a, b)| a.abs_diff(*b) <= 1), "{with:?} {without:?}");
}

#[test]
fn the_largest_window_with_the_smallest_segments_does_not_overflow() {
    let Run { mut control, mut flight, now } = Run::new(1, 1);
    (flight.mss, flight.cwnd) = (1, 1 << 30);
    let first = control.on_loss(&flight);
    assert_eq!(first.ssthresh, ((1u64 << 30) * 717 / 1024) as u32);
    (flight.cwnd, flight.ssthresh) = (first.cwnd, first.ssthresh);
    let ack = AckSample { now, acked: 1000, outstanding: 0, rtt: None, srtt: None, rate: None };
    control.on_ack(&ack, &mut flight);
    assert!((first.cwnd..first.cwnd + 1000).contains(&flight.cwnd));
    let second = control.on_loss(&flight);
    assert_eq!(second.ssthresh, (u64::from(flight.cwnd) * 717 / 1024) as u32);
}

#[test]
fn after_a_time_out_an_ack_opens_the_window_by_one_segment_or_the_limit() {
    for (limit, expected) in [(None, 2), (Some(3), 4), (Some(u32::MAX), 31)] {
        let mut run = Run::new(100, 100);
        run.control = CubicLinux::new(limit);
        run.control.on_timeout(&mut run.flight);
        let ack = AckSample {
            now: run.now,
            acked: 30 * MSS,
            outstanding: 100 * MSS,
            rtt: None,
            srtt: None,
            rate: None,
        };
        run.control.on_ack(&ack, &mut run.flight);
        assert_eq!(run.window(), expected, "{limit:?}");
    }
}
