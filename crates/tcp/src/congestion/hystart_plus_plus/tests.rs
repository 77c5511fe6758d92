use super::*;
use crate::congestion::Cubic;

const MSS: u32 = 1000;

/// A sender in its first slow start, ten segments in flight.
struct Run {
    control: HystartPlusPlus,
    flight: Flight,
    now: Instant,
}

impl Run {
    fn new() -> Self {
        let (una, cwnd) = (Seq(0), 10 * MSS);
        let sent = una + cwnd;
        let flight =
            Flight { una, nxt: sent, max: sent, peer_window: 1 << 30, mss: MSS, cwnd, ssthresh: 1 << 30 };
        Self {
            control: HystartPlusPlus::new(Box::new(Cubic::default())),
            flight,
            now: Instant::from_secs(10),
        }
    }

    /// Acknowledges the next outstanding segment after this round-trip time.
    fn ack(&mut self, rtt_ms: u64) {
        let (now, outstanding) = (self.now, self.flight.outstanding());
        self.flight.una += MSS;
        let rtt = Some(Duration::from_millis(rtt_ms));
        let ack = AckSample { now, acked: MSS, outstanding, rtt, srtt: rtt, rate: None };
        self.control.on_ack(&ack, &mut self.flight);
    }

    /// Acknowledges all outstanding data, segment by segment, with this round-trip time, and sends
    /// what the window then allows.
    fn round(&mut self, rtt_ms: u64) {
        for _ in 0..self.flight.outstanding() / MSS {
            self.now += Duration::from_micros(100);
            self.ack(rtt_ms);
            self.flight.max = self.flight.una + self.flight.cwnd / MSS * MSS;
            self.flight.nxt = self.flight.max;
        }
    }

    fn window(&self) -> u32 {
        self.flight.cwnd / MSS
    }

    fn is_conservative(&self) -> bool {
        matches!(self.control.phase, Phase::Conservative { .. })
    }
}

#[test]
fn the_window_doubles_while_round_trip_times_do_not_grow() {
    let mut run = Run::new();
    for expected in [20, 40, 80, 160] {
        run.round(50);
        assert_eq!(run.window(), expected);
    }
    assert_eq!(run.control.phase, Phase::SlowStart);
}

#[test]
fn a_delay_increase_above_the_threshold_slows_the_growth_to_a_quarter() {
    // An eighth of 50 ms is 6.25 ms.
    for (grown, is_conservative) in [(56, false), (57, true)] {
        let mut run = Run::new();
        run.round(50);
        run.round(grown);
        assert_eq!(run.is_conservative(), is_conservative, "{grown} ms");
    }
    // The threshold is between 4 ms and 16 ms.
    for (rtt, grown, is_conservative) in
        [(10, 13, false), (10, 14, true), (400, 415, false), (400, 416, true)]
    {
        let mut run = Run::new();
        run.round(rtt);
        run.round(grown);
        assert_eq!(run.is_conservative(), is_conservative, "{rtt} ms, then {grown} ms");
    }
    let mut run = Run::new();
    run.round(50);
    run.round(80);
    // Eight samples of twenty reveal it: up to the eighth the window grows by a segment for each
    // ACK.
    assert_eq!(run.window(), 20 + 8 + 12 / 4);
}

#[test]
fn after_five_conservative_rounds_slow_start_ends_and_the_control_sets_the_window() {
    let mut run = Run::new();
    run.round(50);
    for round in 1..=5 {
        assert_ne!(run.control.phase, Phase::Over, "round {round}");
        run.round(80);
    }
    assert_eq!(run.control.phase, Phase::Over);
    // The control processes the last ACKs of the fifth round.
    assert!((run.flight.ssthresh..run.flight.ssthresh + MSS).contains(&run.flight.cwnd));
    let before = run.window();
    run.round(80);
    assert!(run.window() <= before + 2, "congestion avoidance: {before} to {}", run.window());
}

#[test]
fn slow_start_resumes_when_the_delay_decreases_again() {
    let mut run = Run::new();
    run.round(50);
    run.round(80);
    assert!(run.is_conservative());
    run.round(50);
    assert_eq!(run.control.phase, Phase::SlowStart);
    // It can end again.
    run.round(90);
    assert!(run.is_conservative());
}

#[test]
fn fewer_than_eight_samples_do_not_end_slow_start() {
    let mut run = Run::new();
    run.round(50);
    for _ in 0..7 {
        run.ack(500);
    }
    assert_eq!(run.control.phase, Phase::SlowStart);
}

#[test]
fn an_ack_of_many_segments_opens_the_window_by_at_most_eight() {
    let mut run = Run::new();
    run.flight.una += 10 * MSS;
    let (now, acked) = (run.now, 10 * MSS);
    let ack = AckSample { now, acked, outstanding: acked, rtt: None, srtt: None, rate: None };
    run.control.on_ack(&ack, &mut run.flight);
    assert_eq!(run.window(), 18);
}

#[test]
fn a_loss_or_a_time_out_ends_it_permanently() {
    let mut run = Run::new();
    run.round(50);
    let reduction = run.control.on_loss(&run.flight);
    (run.flight.cwnd, run.flight.ssthresh) = (reduction.cwnd, reduction.ssthresh);
    assert_eq!(run.control.phase, Phase::Over);

    let mut run = Run::new();
    run.round(50);
    run.control.on_timeout(&mut run.flight);
    assert!(run.flight.cwnd < run.flight.ssthresh, "slow start, but not the first");
    run.flight.max = run.flight.una + MSS;
    run.round(50);
    assert_eq!((run.control.phase, run.window()), (Phase::Over, 2));
}
