use lasthop_packet::Seq;

use super::*;

const MSS: u32 = 1000;

fn flight() -> Flight {
    let seq = Seq(0);
    let (cwnd, ssthresh) = (20 * MSS, 40 * MSS);
    Flight { una: seq, nxt: seq, max: seq + 20 * MSS, peer_window: 1 << 20, mss: MSS, cwnd, ssthresh }
}

fn ack(at: Duration, acked: u32) -> AckSample {
    let rtt = Some(Duration::from_millis(100));
    AckSample { now: Instant::ZERO + at, acked, outstanding: 20 * MSS, rtt, srtt: rtt, rate: None }
}

/// Processes `count` ACKs of `acked` octets, one every `gap`. Returns the time after the last one.
fn steady(westwood: &mut Westwood, from: Duration, gap: Duration, acked: u32, count: u32) -> Duration {
    for number in 0..count {
        westwood.measure(&ack(from + gap * number, acked), &flight());
    }
    from + gap * count
}

#[test]
fn the_estimate_converges_to_the_rate_of_the_acks() {
    for (gap, acked) in [(10, MSS), (20, 2 * MSS), (40, 4 * MSS), (5, MSS / 2)] {
        let mut westwood = Westwood::default();
        steady(&mut westwood, Duration::ZERO, Duration::from_millis(gap), acked, 6000 / gap as u32);
        let bandwidth = westwood.bandwidth();
        assert!((bandwidth / 100_000.0 - 1.0).abs() < 0.01, "{bandwidth}");
    }
}

/// Section 2.2, by hand: tau = 0.5 s, 1,000 octets every 10 ms; a = 0.99 / 1.01.
#[test]
fn the_filter_averages_each_sample_with_the_previous_one() {
    let mut westwood = Westwood::default();
    let gap = Duration::from_millis(10);
    let now = steady(&mut westwood, Duration::ZERO, gap, MSS, 2);
    assert!((westwood.bandwidth() - 990.099).abs() < 0.01, "{}", westwood.bandwidth());
    steady(&mut westwood, now, gap, MSS, 1);
    assert!((westwood.bandwidth() - 2950.691).abs() < 0.01, "{}", westwood.bandwidth());
}

/// The step response is that of a first-order low pass with time constant tau: 1 - e^(-t / tau).
#[test]
fn the_filter_follows_a_step_with_its_time_constant() {
    let mut westwood = Westwood::default();
    let gap = Duration::from_millis(5);
    let mut now = Duration::ZERO;
    for taus in 1..=5 {
        now = steady(&mut westwood, now, gap, MSS, 100);
        let expected = 200_000.0 * (1.0 - libm::exp(-f64::from(taus)));
        let bandwidth = westwood.bandwidth();
        assert!((bandwidth / expected - 1.0).abs() < 0.02, "after {taus} tau: {bandwidth} for {expected}");
    }
}

/// Section 2.2: virtual samples of 0 let the estimate decay while no ACK comes.
#[test]
fn without_acks_the_estimate_decays() {
    let mut westwood = Westwood::default();
    let now = steady(&mut westwood, Duration::ZERO, Duration::from_millis(10), MSS, 600);
    let before = westwood.bandwidth();
    westwood.measure(&ack(now + Duration::from_secs(1), MSS), &flight());
    // (2m - 1) / (2m + 1), four times, with m = 2; the first one also averages with the sample
    // before.
    let decayed = westwood.bandwidth() / before;
    assert!((0.12..0.25).contains(&decayed), "{decayed}");
    // An hour of silence takes no more work than a minute.
    westwood.measure(&ack(now + Duration::from_secs(3600), MSS), &flight());
    assert!(westwood.bandwidth() < 1.0);
}

/// Section 2.3: the ACK after duplicate ACKs does not count their octets again.
#[test]
fn each_duplicate_ack_counts_for_one_segment_once() {
    let mut westwood = Westwood::default();
    let octets: Vec<u32> =
        [MSS, 0, 0, 0, 4 * MSS, 2 * MSS, MSS].map(|acked| westwood.octets(acked, MSS)).into();
    assert_eq!(octets, [MSS, MSS, MSS, MSS, MSS, 2 * MSS, MSS]);
    assert_eq!(octets.iter().sum::<u32>(), 8 * MSS, "as much as was acknowledged");
}

#[test]
fn acks_at_the_same_instant_do_not_give_an_infinite_rate() {
    let mut westwood = Westwood::default();
    let now = steady(&mut westwood, Duration::ZERO, Duration::from_millis(10), MSS, 600);
    for _ in 0..50 {
        westwood.measure(&ack(now, MSS), &flight());
    }
    assert!(westwood.bandwidth() < 200_000.0, "{}", westwood.bandwidth());
}

/// Section 3.1: cwnd is reduced to ssthresh, and never raised to it.
#[test]
fn a_loss_sets_ssthresh_to_bandwidth_times_rtt_min_and_does_not_raise_cwnd() {
    let mut westwood = Westwood::default();
    steady(&mut westwood, Duration::ZERO, Duration::from_millis(10), MSS, 1000);
    let large = Flight { cwnd: 30 * MSS, ..flight() };
    let small = Flight { cwnd: 4 * MSS, ..flight() };
    let reduced = [large, small].map(|flight| westwood.on_loss(&flight));
    let ssthresh = reduced[0].ssthresh;
    assert!(ssthresh.abs_diff(10 * MSS) < 100, "{ssthresh}");
    assert_eq!(reduced, [Reduction::to(ssthresh), Reduction { ssthresh, cwnd: 4 * MSS }]);
    let mut flight = flight();
    westwood.on_timeout(&mut flight);
    assert_eq!((flight.ssthresh, flight.cwnd), (ssthresh, MSS));
}
