//! Slow start (thesis, section 2.2).
//!
//! //= RFC 5681, section 3.1: "a TCP increments cwnd by at most SMSS bytes for each ACK received
//! that cumulatively acknowledges //= new data".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn each_ack_opens_the_window_by_a_segment_up_to_and_at_ssthresh() {
    Script::established(Config { initial_ssthresh: 3000, ..config() }).run(
        "
        +0    write 20000
        +0    > 1:1001(1000) ack 1
        +0    cwnd 1000 ssthresh 3000
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    cwnd 2000
        +10ms < . ack 2001
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    cwnd 3000
        +0    < . ack 3001            # 3000 <= 3000: still slow start
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    cwnd 4000
        +10ms < . ack 4001            # congestion avoidance: 1000 * 1000 / 4000
        +0    > 7001:8001(1000)
        +0    cwnd 4250
        ",
    );
}

#[test]
fn an_ack_for_several_segments_opens_it_by_one() {
    Script::established(Config { initial_window: 4, ..config() }).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 4001
        +0    cwnd 5000
        ",
    );
}
