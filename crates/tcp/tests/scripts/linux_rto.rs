//! RTO as Linux has it (`tcp_rtt_estimator`, `tcp_set_rto`), and when round trips are measured (RFC 6298, Karn's algorithm).

use std::time::Duration;

use lasthop_packet::{Instant, Seq};
use lasthop_tcp::{Config, Flight, RtoConfig, RtoRule, RttEstimator};

use crate::script::{ALONE, Script, rack};

fn linux_rto() -> RtoConfig {
    RtoConfig {
        rule: RtoRule::Linux,
        minimum: Duration::from_millis(200),
        maximum: Duration::from_secs(120),
        granularity: Duration::ZERO,
        ..RtoConfig::default()
    }
}

fn run(text: &str) {
    Script::established(Config { rto: linux_rto(), ..rack(ALONE) }).run(text);
}

/// Samples in ms, and what follows from each in microseconds: the smoothed round trip and RTO. With so many segments in flight, one
/// sample a segment.
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
fn rto_is_the_smoothed_round_trip_and_what_deviations_were_lately_a_round_trip_at_a_time() {
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
fn within_a_round_trip_it_falls_with_the_smoothed_round_trip_only() {
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

// `tcp_rtt_estimator`: "make sure rto = 3*rtt"; the kernel's test `cubic-rto-ss-ca-cwnd-bump` has 300 ms after 100 ms.
#[test]
fn after_one_round_trip_rto_is_three_of_them_or_200_ms_above_it() {
    for (round_trip, rto) in [("10ms", "210ms"), ("100ms", "300ms"), ("150ms", "450ms"), ("900ms", "2.7s")] {
        run(&format!(
            "
            +0    write 1000
            +0    > 1:1001(1000)
            +{round_trip} < . ack 1001
            +0    srtt {round_trip} rto {rto}
            "
        ));
    }
}

// `tcp_rto_min`: it bounds what lies above the smoothed round trip, however even round trips are.
#[test]
fn the_minimum_lies_above_the_round_trip() {
    let even = [(500, 500_000, 1_500_000); 2];
    follow(1, &even);
    let rows: Vec<_> = (0..40).map(|_| (50, 50_000, 250_000)).collect();
    follow(1, &rows);
}

//= RFC 6298, section 5.5: "The host MUST set RTO <- RTO * 2"; section 3 and `tcp_ack_update_rtt`: until a round trip is measured again.
#[test]
fn a_time_out_doubles_rto_until_a_new_measurement() {
    run("
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    write 2000
        +0    >> 1001:3001(2000)
        +300ms > 1001:2001(1000)
        +0    rto 600ms timer 600ms
        +600ms > 1001:2001(1000)
        +0    rto 1.2s timeouts 2
        +100ms < . ack 2001                    # of what was sent again: not measured
        +0    rto 1.2s
        +0    > 2001:3001(1000)
        +100ms < . ack 3001
        +0    rto 1.2s
        +0    write 1000
        +0    > 3001:4001(1000)
        +100ms < . ack 4001
        +0    srtt 100ms rto 300ms
        ");
}

//= RFC 6298, section 3: "RTT samples MUST NOT be made using segments that were retransmitted". In Linux an ACK that covers one of these
//= is no sample at all: what it acknowledges beside it has waited for it at the receiver.
#[test]
fn an_ack_that_covers_a_retransmission_is_no_sample() {
    run("
        +0    write 5000
        +0    >> 1:5001(5000)
        +100ms < . ack 1001
        +0    srtt 100ms
        +0    < . ack 1001 <sack 2001:5001>
        +0    > 1001:2001(1000)
        +0    write 1000
        +0    > 5001:6001(1000)
        +200ms < . ack 6001                    # the ACK that reported the last was lost
        +0    srtt 100ms
        ");
}

// `tcp_ack_update_rtt`: with timestamps, that ACK has its echo.
#[test]
fn with_timestamps_its_echo_is_one() {
    Script::established(Config { timestamps: true, mss: 1012, rto: linux_rto(), ..rack(ALONE) }).run(
        "
        +0    write 5000
        +0    >> 1:5001(5000)
        +100ms < . ack 1001 <TS 1 1>
        +0    srtt 100ms
        +0    < . ack 1001 <TS 2 1, sack 2001:5001>
        +0    > 1001:2001(1000)
        +180ms < . ack 5001 <TS 3 101>
        +0    srtt 110ms
        ",
    );
}

// `tcp_clean_rtx_queue`, `sack_rtt_us`: what is reported newly, and was sent once, is a sample too.
#[test]
fn a_report_is_a_sample() {
    run("
        +0    write 5000
        +0    >> 1:5001(5000)
        +100ms < . ack 1001
        +20ms < . ack 1001 <sack 2001:3001>
        +0    srtt 102.5ms
        +20ms < . ack 1001 <sack 2001:3001>
        +0    srtt 102.5ms
        ");
}

//= RFC 6298, section 5.3: "When an ACK is received that acknowledges new data, restart the retransmission timer".
#[test]
fn an_ack_of_new_data_restarts_the_timer_and_a_duplicate_does_not() {
    run("
        +0    write 5000
        +0    >> 1:5001(5000)
        +100ms < . ack 1001
        +0    rto 300ms timer 300ms
        +20ms < . ack 1001
        +0    timer 280ms
        ");
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
