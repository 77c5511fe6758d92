//! Fast retransmit and fast recovery (thesis, section 2.3.2).
//!
//! //= RFC 5681, section 3.2: "arrival of 3 duplicate ACKs"; inflation by a segment for each
//! further one; deflation to ssthresh.

use lasthop_tcp::Config;

use crate::script::{Script, config};

/// Eight segments in flight; cwnd 8000.
const EIGHT: &str = "
        +0    write 30000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
";

fn eight(rest: &str) {
    Script::established(Config { initial_window: 8, ..config() }).run(&format!("{EIGHT}{rest}"));
}

#[test]
fn the_third_duplicate_retransmits_further_ones_inflate_and_a_new_ack_deflates() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    cwnd 8000
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    ssthresh 4000 cwnd 7000 fast_retransmits 1 timer 1s
        +0    < . ack 1
        +0    cwnd 8000
        +0    < . ack 1
        +0    > 8001:9001(1000)            # new data while recovery goes on
        +0    < . ack 1
        +0    > 9001:10001(1000)
        +0    < . ack 1
        +0    > 10001:11001(1000)
        +0    cwnd 11000
        +10ms < . ack 8001
        +0    > 11001:12001(1000)
        +0    cwnd 4000 ssthresh 4000 retransmits 1 timeouts 0
        ",
    );
}

#[test]
fn ssthresh_comes_from_the_smaller_window() {
    Script::established(Config { initial_window: 8, ..config() }).peer_window(5500).run(
        "
        +0    write 30000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1 win 5500
        +0    < . ack 1 win 5500
        +0    < . ack 1 win 5500
        +0    > 1:1001(1000)
        +0    ssthresh 2000 cwnd 5000
        ",
    );
}

#[test]
fn a_second_loss_in_the_window_waits_for_the_time_out() {
    // RFC 2001's Reno takes any new ACK for the end of recovery.
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    < . ack 1
        +0    > 8001:9001(1000)
        +10ms < . ack 1001                 # 1001:2001 is lost too
        +0    cwnd 4000 ssthresh 4000 timer 1s
        +10ms < . ack 1001
        1.02s > 1001:2001(1000)
        +0    cwnd 1000 ssthresh 2000 timeouts 1
        ",
    );
}

#[test]
fn what_is_no_duplicate_ack() {
    eight(
        "
        +10ms < 1:101(100) ack 1           # with data
        +0    > . 8001:8001 ack 101
        +0    < . 101:101 ack 1 win 65535
        +0    duplicates 1
        +0    < . 101:101 ack 1 win 60000  # another window, older or not
        +0    duplicates 1
        +0    < . 101:101 ack 1 win 65535
        +0    < . 101:101 ack 1 win 65535
        +0    duplicates 3 fast_retransmits 0
        +0    < . 101:101 ack 1 win 65535  # three in a row now
        +0    > 1:1001(1000)
        +0    < . 101:101 ack 8001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    < . ack 7001                 # old
        +0    duplicates 4 una 8001
        ",
    );
}

#[test]
fn nothing_outstanding_means_no_duplicate() {
    Script::established(config()).run(
        "
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    duplicates 0 fast_retransmits 0 cwnd 1000
        ",
    );
}

#[test]
fn duplicates_of_needless_retransmissions_after_a_time_out_retransmit_once_more() {
    // 4.3BSD does not remember how far it had got before the time-out.
    eight(
        "
        1s    > 1:1001(1000)
        +1ms  < . ack 8001                 # all the ACKs were late
        +0    cwnd 2000 nxt 10001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +1ms  < . ack 8001
        +0    < . ack 8001
        +0    < . ack 8001
        +0    > 8001:9001(1000)            # alone, although cwnd has room
        +0    ssthresh 2000 cwnd 5000 fast_retransmits 1
        +0    < . ack 9001
        +0    > 10001:11001(1000)
        +0    cwnd 2000
        ",
    );
}

#[test]
fn new_data_goes_with_the_duplicates_after_the_third_not_with_it() {
    Script::established(Config { initial_window: 4, ..config() }).run(
        "
        +0    write 30000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 2000
        +10ms < . ack 1
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        ",
    );
}

#[test]
fn a_time_out_ends_recovery() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        1.01s > 1:1001(1000)
        +0    cwnd 1000 ssthresh 3000
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    cwnd 2000
        ",
    );
}
