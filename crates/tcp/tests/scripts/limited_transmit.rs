//! Limited transmit (RFC 3042).
//!
//! //= RFC 3042, section 2: "transmit new data upon the arrival of the first two consecutive
//! duplicate ACKs when [...] The receiver's //= advertised window allows the transmission of the
//! segment [and] the amount of outstanding data would remain less than or equal //= to the
//! congestion window plus 2 segments. [...] The congestion window (cwnd) MUST NOT be changed".

use lasthop_tcp::Config;

use crate::script::{Script, config};

fn three() -> Script {
    Script::established(Config { limited_transmit: true, initial_window: 3, ..config() })
}

const THREE: &str = "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
";

#[test]
fn the_first_two_duplicates_let_a_segment_go_each_and_so_there_is_a_third() {
    three().run(&format!(
        "{THREE}
        +10ms < . ack 1
        +0    > 3001:4001(1000)
        +0    < . ack 1
        +0    > 4001:5001(1000)
        +0    cwnd 3000
        +10ms < . ack 1                    # without 3001:4001 it would not be here
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 2000
        +0    < . ack 1
        +0    > 5001:6001(1000)
        +0    cwnd 6000
        "
    ));
}

#[test]
fn not_beyond_the_advertised_window() {
    three().peer_window(4000).run(&format!(
        "{THREE}
        +10ms < . ack 1 win 4000
        +0    > 3001:4001(1000)
        +0    < . ack 1 win 4000
        "
    ));
}

#[test]
fn not_what_was_sent_before() {
    three().run(&format!(
        "{THREE}
        1s    > 1:1001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    nxt 1001 max 3001 cwnd 1000
        "
    ));
}

#[test]
fn an_ack_of_new_data_takes_the_two_segments_back() {
    three().run(&format!(
        "{THREE}
        +10ms < . ack 1
        +0    > 3001:4001(1000)
        +0    < . ack 1
        +0    > 4001:5001(1000)
        +10ms < . ack 1001                 # late, not lost
        +0    cwnd 4000 nxt 5001
        +0    < . ack 2001
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        "
    ));
}
