//! RTO as Linux has it (`tcp_rtt_estimator`, `tcp_set_rto`), sample by sample.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};
use lasthop_tcp::{Flight, RtoConfig, RtoRule, RttEstimator};

fn linux_rto() -> RtoConfig {
    RtoConfig {
        rule: RtoRule::Linux,
        minimum: Duration::from_millis(200),
        maximum: Duration::from_secs(120),
        granularity: Duration::ZERO,
        ..RtoConfig::default()
    }
}

/// Samples in ms, each with the resulting smoothed round trip and RTO in microseconds. One sample per segment, with `in_flight`
/// segments in flight.
fn follow(in_flight: u32, rows: &[(u64, u64, u64)]) {
    let mut rtt = RttEstimator::new(linux_rto());
    for (at, &(sample, srtt, rto)) in rows.iter().enumerate() {
        let una = Seq(at as u32 + 1);
        let max = una + (in_flight - 1);
        let flight = Flight { una, nxt: max, max, peer_window: 65_535, mss: 1, cwnd: 10, ssthresh: 65_535 };
        rtt.sample(Instant::ZERO, Instant::from_millis(sample), &flight);
        let got = (rtt.srtt().unwrap_or_default().as_micros() as u64, rtt.rto().as_micros() as u64);
        // The kernel counts in whole microseconds.
        let is_near = got.0.abs_diff(srtt) <= 1 && got.1.abs_diff(rto) <= 2;
        assert!(is_near, "sample {at}, {sample} ms: {got:?}, not {:?}", (srtt, rto));
    }
}

// The tables are the kernel's lines in Python, with its integers.
#[test]
fn linux_rto_is_the_smoothed_round_trip_plus_the_recent_maximum_deviation() {
    follow(
        1,
        &[
            (300, 300_000, 900_000),
            (300, 300_000, 900_000),
            (300, 300_000, 834_375),
            (250, 293_750, 770_313),
            (100, 269_531, 706_421),
            (100, 248_339, 658_289),
            (1000, 342_297, 1_340_805),
            (400, 349_510, 1_300_037),
            (300, 343_321, 1_219_829),
            (300, 337_906, 1_128_827),
            (300, 333_168, 1_035_990),
            (300, 329_022, 946_654),
            (300, 325_394, 863_760),
            (280, 319_720, 791_200),
            (260, 312_255, 731_574),
            (240, 303_223, 683_626),
        ],
    );
}

#[test]
fn within_a_round_trip_linux_rto_falls_only_with_the_smoothed_one() {
    follow(
        4,
        &[
            (300, 300_000, 900_000),
            (300, 300_000, 900_000),
            (300, 300_000, 900_000),
            (250, 293_750, 893_750),
            (100, 269_531, 869_531),
            (100, 248_339, 848_339),
            (1000, 342_297, 1_340_805),
            (400, 349_510, 1_348_018),
            (300, 343_321, 1_341_829),
            (300, 337_906, 1_336_414),
            (300, 333_168, 1_331_676),
            (300, 329_022, 1_327_530),
            (300, 325_394, 1_207_815),
            (280, 319_720, 1_202_141),
            (260, 312_255, 1_194_676),
            (240, 303_223, 1_185_644),
        ],
    );
}

// `tcp_rto_min` bounds the difference to the smoothed round trip, even if all round trips are the same.
#[test]
fn the_minimum_of_linux_rto_is_added_to_the_round_trip() {
    let even = [(500, 500_000, 1_500_000); 2];
    follow(1, &even);
    let rows: Vec<_> = (0..40).map(|_| (50, 50_000, 250_000)).collect();
    follow(1, &rows);
}

// `tcp_bound_rto`: two minutes at most.
#[test]
fn rto_is_bounded() {
    let mut rtt = RttEstimator::new(linux_rto());
    for _ in 0..20 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(), Duration::from_secs(120));
}
