//! Congestion avoidance (thesis, section 2.2).
//!
//! //= RFC 5681, section 3.1: "cwnd += SMSS*SMSS/cwnd".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn the_window_opens_by_about_a_segment_a_round_trip_and_sends_whole_segments_only() {
    Script::established(Config { initial_window: 4, initial_ssthresh: 2000, ..config() }).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1001
        +0    > 4001:5001(1000)
        +0    cwnd 4250
        +0    < . ack 2001
        +0    > 5001:6001(1000)
        +0    cwnd 4485
        +0    < . ack 3001
        +0    > 6001:7001(1000)
        +0    cwnd 4707
        +0    < . ack 4001
        +0    > 7001:8001(1000)
        +0    cwnd 4919               # the 919 octets beyond the fourth segment wait
        +0    < . ack 5001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    cwnd 5122
        ",
    );
}
