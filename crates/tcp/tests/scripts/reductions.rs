//! What Westwood and CUBIC make of a loss and of a time-out; how they grow is in their own tests.

use lasthop_tcp::{Config, Congestion, Recovery};

use crate::script::{Script, config};

fn ten(congestion: Congestion, rest: &str) {
    let config = Config {
        congestion,
        recovery: Recovery::NewReno,
        initial_window: 10,
        initial_ssthresh: 5000,
        ..config()
    };
    Script::established(config).run(&format!(
        "
        +0    write 100000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        {rest}"
    ));
}

//= RFC 9438, section 4.6: beta = 0.7 of what is outstanding, for ssthresh and cwnd.
#[test]
fn cubic_keeps_seven_tenths_after_a_fast_retransmit() {
    ten(
        Congestion::Cubic,
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    ssthresh 7000 cwnd 10000
        +10ms < . ack 10001
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    > 12001:13001(1000)
        +0    > 13001:14001(1000)
        +0    > 14001:15001(1000)
        +0    > 15001:16001(1000)
        +0    > 16001:17001(1000)
        +0    ssthresh 7000 cwnd 7000
        ",
    );
}

//= RFC 9438, section 4.8: a time-out: one segment, and ssthresh by beta too.
#[test]
fn cubic_begins_at_one_segment_after_a_time_out_and_keeps_ssthresh_at_seven_tenths() {
    ten(
        Congestion::Cubic,
        "
        1s    > 1:1001(1000)
        +0    ssthresh 7000 cwnd 1000
        3s    > 1:1001(1000)               # the same segment: ssthresh stays (RFC 5681, section 3.1)
        +0    ssthresh 7000 cwnd 1000
        ",
    );
}

// Mascolo et al. 2001, section 3.1: ssthresh = BWE * RTTmin. Nothing is known before the first
// round trip was measured: half.
#[test]
fn westwood_halves_while_it_has_measured_nothing() {
    ten(
        Congestion::Westwood,
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    ssthresh 5000 cwnd 8000
        ",
    );
}

// The same, section 3.2. After a second of silence the estimate is close to 0, and ssthresh at its
// floor.
#[test]
fn westwood_begins_at_one_segment_after_a_time_out() {
    ten(
        Congestion::Westwood,
        "
        +100ms < . ack 1001
        +0    > 10001:11001(1000)
        1.1s  > 1001:2001(1000)
        +0    ssthresh 2000 cwnd 1000
        ",
    );
}
