use super::*;
use crate::congestion::Cubic;

const MSS: u32 = 1000;

/// A sender in slow start.
struct Run {
    control: Hystart,
    flight: Flight,
    now: Instant,
}

impl Run {
    fn new(window: u32) -> Self {
        let (una, cwnd) = (Seq(0), window * MSS);
        let sent = una + cwnd;
        let flight =
            Flight { una, nxt: sent, max: sent, peer_window: 1 << 30, mss: MSS, cwnd, ssthresh: 1 << 30 };
        Self { control: Hystart::new(Box::new(Cubic::default())), flight, now: Instant::from_secs(10) }
    }

    /// Acknowledges all outstanding data, with an ACK every `gap_us` microseconds and this
    /// round-trip time, and sends what the window then allows.
    fn round(&mut self, rtt_us: u64, gap_us: u64) {
        let rtt = Some(Duration::from_micros(rtt_us));
        for _ in 0..self.flight.outstanding() / MSS {
            let outstanding = self.flight.outstanding();
            self.flight.una += MSS;
            let ack = AckSample { now: self.now, acked: MSS, outstanding, rtt, srtt: rtt, rate: None };
            self.control.on_ack(&ack, &mut self.flight);
            self.flight.max = self.flight.una + self.flight.cwnd / MSS * MSS;
            self.flight.nxt = self.flight.max;
            self.now += Duration::from_micros(gap_us);
        }
        self.now += Duration::from_millis(10);
    }

    fn has_ended(&self) -> bool {
        self.flight.ssthresh < 1 << 30
    }
}

#[test]
fn an_ack_train_of_half_the_round_trip_time_ends_slow_start() {
    // 20 ACKs, 1 ms apart, last 19 ms: less than half of 50 ms. 40 last 39 ms, and the 26th is 25
    // ms after the first.
    let mut run = Run::new(20);
    run.round(50_000, 1000);
    assert!(!run.has_ended());
    run.round(50_000, 1000);
    assert!(run.has_ended());
    // The window grows by one for each ACK up to the first one more than 25.5 ms after the first.
    assert_eq!(run.flight.ssthresh, (40 + 26) * MSS);
}

#[test]
fn acks_more_than_two_milliseconds_apart_do_not_form_a_train() {
    let mut run = Run::new(40);
    run.round(50_000, 2001);
    assert!(!run.has_ended());
}

#[test]
fn a_round_trip_time_an_eighth_longer_ends_slow_start_after_eight_samples() {
    for (grown, ends) in [(56_000, false), (57_000, true)] {
        let mut run = Run::new(20);
        run.round(50_000, 3000);
        assert!(!run.has_ended());
        run.round(grown, 3000);
        assert_eq!(run.has_ended(), ends, "{grown} us");
        if ends {
            assert_eq!(run.flight.ssthresh, (40 + 8) * MSS);
        }
    }
}

#[test]
fn slow_start_continues_below_sixteen_segments() {
    let mut run = Run::new(3);
    run.round(50_000, 3000);
    run.round(500_000, 3000);
    assert_eq!((run.has_ended(), run.flight.cwnd), (false, 12 * MSS));
}

#[test]
fn hystart_is_active_again_after_a_time_out() {
    let mut run = Run::new(20);
    run.round(50_000, 3000);
    run.round(90_000, 3000);
    assert!(run.control.is_over);
    run.control.on_timeout(&mut run.flight);
    assert!(!run.control.is_over);
    assert_eq!(run.control.min_rtt, None);
}
