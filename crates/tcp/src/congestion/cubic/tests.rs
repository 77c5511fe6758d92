use lasthop_packet::Seq;

use super::*;

const MSS: u32 = 1000;

fn flight(segments: u32) -> Flight {
    let seq = Seq(0);
    let cwnd = segments * MSS;
    Flight {
        una: seq,
        nxt: seq + cwnd,
        max: seq + cwnd,
        peer_window: 1 << 30,
        mss: MSS,
        cwnd,
        ssthresh: 1 << 30,
    }
}

struct Run {
    cubic: Cubic,
    flight: Flight,
    now: Instant,
    round_trip: Duration,
}

impl Run {
    /// A flow in congestion avoidance after a fast retransmit at this window.
    fn after_loss_at(segments: u32, round_trip: Duration) -> Self {
        let mut run =
            Self { cubic: Cubic::default(), flight: flight(segments), now: Instant::ZERO, round_trip };
        run.lose();
        run
    }

    fn lose(&mut self) {
        self.flight.max = self.flight.una + self.flight.cwnd;
        let Reduction { ssthresh, cwnd } = self.cubic.on_loss(&self.flight);
        (self.flight.ssthresh, self.flight.cwnd) = (ssthresh, cwnd);
    }

    /// A round trip: an ACK for each segment of the window, evenly spread.
    fn round(&mut self) {
        let window = self.flight.cwnd / MSS;
        for _ in 0..window {
            self.now += self.round_trip / window;
            self.ack(self.flight.cwnd);
        }
    }

    fn ack(&mut self, outstanding: u32) {
        let rtt = Some(self.round_trip);
        let sample = AckSample { now: self.now, acked: MSS, outstanding, rtt, srtt: rtt, rate: None };
        self.cubic.on_ack(&sample, &mut self.flight);
    }

    fn window(&self) -> f64 {
        f64::from(self.flight.cwnd) / f64::from(MSS)
    }
}

/// RFC 9438, sections 4.1 and 4.2: `W(t) = C (t - K)^3 + W_max` with `K = cbrt((W_max - cwnd) /
/// C)`: at every time, concave and convex.
#[test]
fn the_window_follows_the_closed_formula() {
    let mut run = Run::after_loss_at(1000, Duration::from_millis(50));
    assert!((run.window() - 700.0).abs() < 0.01);
    let k = libm::cbrt(300.0 / 0.4);
    assert!((k - 9.0856).abs() < 1e-4);
    let begin = run.now;
    for round in 1..=380 {
        run.round();
        if round % 20 == 0 {
            let t = run.now.since(begin).as_secs_f64();
            let formula = 0.4 * libm::pow(t - k, 3.0) + 1000.0;
            let off = run.window() / formula - 1.0;
            // The target is a round trip ahead, and takes a round trip to reach.
            assert!(off.abs() < 0.005, "at {t} s: {} for {formula}", run.window());
        }
    }
    assert!(
        run.now.since(begin) > Duration::from_secs(18) && run.window() > 1250.0,
        "both regions were seen"
    );
}

/// RFC 9438, section 4.3: with a small window and a short round trip, Reno's window is larger: it
/// grows by alpha segments a round trip.
#[test]
fn the_reno_friendly_window_grows_by_alpha_a_round_and_by_one_above_cwnd_prior() {
    let mut run = Run::after_loss_at(20, Duration::from_millis(10));
    let rounds = 10;
    (0..rounds).for_each(|_| run.round());
    let expected = 14.0 + f64::from(rounds) * 9.0 / 17.0;
    assert!((run.window() - expected).abs() < 0.5, "{} for {expected}", run.window());
    while run.window() < 21.0 {
        run.round();
    }
    let before = run.window();
    (0..rounds).for_each(|_| run.round());
    assert!((run.window() - before - f64::from(rounds)).abs() < 0.7, "{} from {before}", run.window());
}

/// RFC 9438, section 4.4: never above one and a half times the window within a round trip.
#[test]
fn the_target_is_at_most_half_a_window_ahead() {
    let mut run = Run::after_loss_at(100, Duration::from_secs(2));
    for _ in 0..12 {
        let before = run.window();
        run.round();
        assert!(run.window() < 1.5 * before * 1.12, "from {before} to {}", run.window());
    }
}

/// RFC 9438, section 4.7: `W_max` = cwnd (1 + beta) / 2 if the window had not returned to `W_max`.
#[test]
fn fast_convergence_lowers_the_plateau_if_the_window_did_not_return_to_it() {
    let mut run = Run::after_loss_at(1000, Duration::from_millis(50));
    (0..20).for_each(|_| run.round());
    let cwnd = run.window();
    assert!(cwnd < 1000.0);
    run.lose();
    assert!((run.cubic.w_max - cwnd * 0.85).abs() < 0.01);
    run.flight.cwnd = 2000 * MSS;
    run.lose();
    assert!((run.cubic.w_max - 2000.0).abs() < 0.01);
}

/// RFC 9438, sections 4.6 and 4.8: ssthresh after a time-out is beta times the outstanding data,
/// and in the next congestion avoidance K is 0 and `W_max` the window at its beginning.
#[test]
fn after_a_time_out_the_curve_begins_at_its_plateau() {
    let mut run = Run::after_loss_at(1000, Duration::from_millis(50));
    run.flight.max = run.flight.una + run.flight.cwnd;
    run.cubic.on_timeout(&mut run.flight);
    assert!(run.flight.ssthresh.abs_diff(490 * MSS) <= 1 && run.flight.cwnd == MSS);
    while run.flight.cwnd < run.flight.ssthresh {
        run.round();
    }
    let (begin, plateau) = (run.now, run.window());
    (0..100).for_each(|_| run.round());
    let t = run.now.since(begin).as_secs_f64();
    let formula = 0.4 * t * t * t + plateau;
    assert!((run.window() / formula - 1.0).abs() < 0.02, "{} for {formula}", run.window());
}

/// RFC 9438, sections 4.2 and 5.8: a window that is not used does not grow, and that time does not
/// count.
#[test]
fn time_in_which_the_window_is_not_used_does_not_count() {
    let mut run = Run::after_loss_at(1000, Duration::from_millis(50));
    (0..40).for_each(|_| run.round());
    let before = run.window();
    for _ in 0..600 {
        run.now += run.round_trip;
        run.ack(10 * MSS);
    }
    assert!((run.window() - before).abs() < 1e-9, "30 s of little to send");
    run.round();
    assert!(run.window() - before < 10.0, "{} from {before}", run.window());
}

#[test]
fn slow_start_grows_by_a_segment_for_each_ack_up_to_ssthresh() {
    let mut run = Run {
        cubic: Cubic::default(),
        flight: flight(2),
        now: Instant::ZERO,
        round_trip: Duration::from_millis(50),
    };
    run.flight.ssthresh = 16 * MSS;
    for expected in [4.0, 8.0, 16.0] {
        run.round();
        assert!((run.window() - expected).abs() < 0.01, "{}", run.window());
    }
    run.round();
    assert!(run.window() < 18.0, "{}", run.window());
}
