//! Vegas (Brakmo and Peterson 1995, section III).

use std::fmt::Write as _;

use lasthop_tcp::{Config, Congestion};

use crate::script::{Script, config};

fn vegas(initial_window: u32, initial_ssthresh: u32, text: &str) {
    let config = Config { congestion: Congestion::Vegas, initial_window, initial_ssthresh, ..config() };
    Script::established(config).run(text);
}

/// Lines for so many segments that leave now, the first of them number `from`, from 0 on.
fn sent(from: u32, count: u32) -> String {
    (from..from + count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "+0 > {}:{}(1000)", number * 1000 + 1, (number + 1) * 1000 + 1);
        text
    })
}

// Section III.C: the window grows in every other round trip, so that the rates can be compared.
#[test]
fn slow_start_grows_every_other_round_trip() {
    vegas(
        2,
        65_535,
        "
        +0    write 100000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +100ms < . ack 1001
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    < . ack 2001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    cwnd 4000
        +100ms < . ack 3001                # the round of 2001:3001 is over: now cwnd stays
        +0    > 6001:7001(1000)
        +0    < . ack 4001
        +0    > 7001:8001(1000)
        +0    < . ack 5001
        +0    > 8001:9001(1000)
        +0    < . ack 6001
        +0    > 9001:10001(1000)
        +0    cwnd 4000
        +100ms < . ack 7001                # and now it grows again
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    cwnd 5000 ssthresh 65535
        ",
    );
}

// Section III.C: slow start ends when Actual falls behind Expected by gamma: one segment in the
// queue.
#[test]
fn slow_start_ends_with_gamma_segments_in_the_queue() {
    vegas(
        2,
        65_535,
        "
        +0    write 100000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +100ms < . ack 1001
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    < . ack 2001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +100ms < . ack 6001                # cwnd stays for a round
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +140ms < . ack 10001               # 4 segments x 40 / 140: 1.14
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    > 12001:13001(1000)
        +0    > 13001:14001(1000)
        +0    cwnd 4000 ssthresh 4000
        ",
    );
}

// Section III.B: Diff below alpha, one segment more; above beta, one less; in between, as it is.
#[test]
fn congestion_avoidance_moves_by_a_segment_a_round_trip_towards_alpha_to_beta_in_the_queue() {
    vegas(
        10,
        2000,
        &format!(
            "
            +0    write 1000000
            {}
            +100ms < . ack 10001
            {}
            +0    cwnd 10000
            +150ms < . ack 20001           # 10 x 50 / 150: 3.3 segments
            {}
            +0    cwnd 9000
            +120ms < . ack 29001           # 9 x 20 / 120: 1.5
            {}
            +0    cwnd 9000
            +101ms < . ack 38001           # 9 x 1 / 101: 0.1
            {}
            +0    cwnd 10000 ssthresh 2000
            ",
            sent(0, 10),
            sent(10, 10),
            sent(20, 9),
            sent(29, 9),
            sent(38, 10),
        ),
    );
}

// Section III.A: a duplicate ACK asks the clock. The first two ACKs of new data behind a
// retransmission do so too; and a segment that was sent before the last reduction does not reduce
// cwnd again.
#[test]
fn a_segment_overdue_goes_with_the_first_duplicate_ack_and_with_the_first_acks_after_it() {
    vegas(
        10,
        2000,
        &format!(
            "
            +0    write 1000000
            {}
            +100ms < . ack 10001           # SRTT 100 ms, RTTVAR 50 ms: overdue after 300 ms
            {}
            +301ms < . ack 10001
            +0    > 10001:11001(1000)
            +0    cwnd 9000 ssthresh 8000 fast_retransmits 1
            +100ms < . ack 11001
            +0    > 11001:12001(1000)
            +0    cwnd 8000 ssthresh 8000 fast_retransmits 2
            +100ms < . ack 12001
            +0    > 12001:13001(1000)
            +0    cwnd 8000 fast_retransmits 3
            +100ms < . ack 20001
            {}
            +0    timeouts 0
            ",
            sent(0, 10),
            sent(10, 10),
            sent(20, 8),
        ),
    );
}

#[test]
fn a_segment_not_overdue_waits_for_the_third_duplicate() {
    vegas(
        10,
        2000,
        &format!(
            "
            +0    write 1000000
            {}
            +100ms < . ack 10001
            {}
            +299ms < . ack 10001
            +0    < . ack 10001
            +0    fast_retransmits 0
            +0    < . ack 10001
            +0    > 10001:11001(1000)
            +0    cwnd 11000 ssthresh 8000 fast_retransmits 1
            ",
            sent(0, 10),
            sent(10, 10),
        ),
    );
}

#[test]
fn a_time_out_does_what_it_does_in_reno() {
    vegas(
        10,
        2000,
        &format!(
            "
            +0    write 1000000
            {}
            1s    > 1:1001(1000)
            +0    cwnd 1000 ssthresh 5000
            ",
            sent(0, 10),
        ),
    );
}
