//! Appropriate byte counting (RFC 3465).

use lasthop_tcp::{Config, Congestion};

use crate::script::{Script, config};

fn script(initial_window: u32, initial_ssthresh: u32) -> Script {
    Script::established(Config {
        congestion: Congestion::RenoAbc,
        initial_window,
        initial_ssthresh,
        ..config()
    })
}

const FOUR: &str = "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
";

//= RFC 3465, section 2.3: L.
#[test]
fn slow_start_opens_by_what_is_acknowledged_and_by_two_segments_at_most() {
    script(4, 65_535).run(&format!(
        "{FOUR}
        +10ms < . ack 501
        +0    > 4001:5001(1000)
        +0    cwnd 4500
        +0    < . ack 1001
        +0    > 5001:6001(1000)
        +0    cwnd 5000
        +0    < . ack 4001
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    > 10001:11001(1000)
        +0    cwnd 7000
        "
    ));
}

//= RFC 3465, section 2.1: a segment when a window's worth of data is acknowledged, however many ACKs that took.
#[test]
fn congestion_avoidance_opens_by_a_segment_a_window_of_data() {
    script(4, 4000).run(&format!(
        "{FOUR}
        +10ms < . ack 2001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    cwnd 4000
        +0    < . ack 3001
        +0    > 6001:7001(1000)
        +0    cwnd 4000
        +0    < . ack 5001
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    cwnd 5000                    # 1000 octets count for the next one
        +0    < . ack 8001
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    > 12001:13001(1000)
        +0    cwnd 5000
        +0    < . ack 9001
        +0    > 13001:14001(1000)
        +0    > 14001:15001(1000)
        +0    cwnd 6000
        "
    ));
}

#[test]
fn slow_start_after_a_time_out_opens_by_a_segment_at_most() {
    script(4, 65_535).run(&format!(
        "{FOUR}
        1s    > 1:1001(1000)
        +0    cwnd 1000 ssthresh 2000
        +10ms < . ack 4001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    cwnd 2000
        "
    ));
}
