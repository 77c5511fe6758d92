//! What a time-out does (thesis, section 2.3.1).
//!
//! //= RFC 5681, section 3.1: "upon a timeout [...] cwnd MUST be set to no more than the loss
//! window, LW, which equals 1 full-sized //= segment".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn everything_from_the_oldest_outstanding_segment_on_is_sent_again_in_slow_start() {
    // The situation of the thesis's figures 2.1 and 2.2: a window of four, the first two lost.
    Script::established(Config { initial_window: 4, ..config() }).peer_window(4000).run(
        "
        +0    write 8000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1 win 4000
        +0    < . ack 1 win 4000
        1s    > 1:1001(1000)
        +0    cwnd 1000 ssthresh 2000 nxt 1001 max 4001 timeouts 1
        +10ms < . ack 1001 win 4000
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)            # the peer has it
        +0    cwnd 2000
        +10ms < . ack 4001 win 4000
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    cwnd 3000
        +0    < . ack 4001 win 4000        # for the segment that was sent twice
        +0    duplicates 3 cwnd 3000 retransmits 3
        ",
    );
}

#[test]
fn ssthresh_is_half_the_smaller_window_in_whole_segments_and_at_least_two() {
    Script::established(Config { initial_window: 9, ..config() }).peer_window(7999).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        1s    > 1:1001(1000)
        +0    ssthresh 3000 cwnd 1000
        3s    > 1:1001(1000)
        +0    ssthresh 2000 cwnd 1000
        ",
    );
}

#[test]
fn after_as_many_time_outs_in_a_row_as_configured_the_connection_is_given_up() {
    Script::established(Config { max_timeouts: 3, initial_window: 2, ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        1s    > 1:1001(1000)
        3s    > 1:1001(1000)
        7s    > 1:1001(1000)
        15s   > R. 2001:2001 ack 1
        +0    state Closed timer none timeouts 4
        ",
    );
}

#[test]
fn time_outs_with_progress_between_them_are_not_in_a_row() {
    let config = Config { max_timeouts: 1, ..config() };
    Script::established(config).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        1s    > 1:1001(1000)
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        3.01s > 1001:2001(1000)
        +10ms < . ack 2001
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        7.02s > 2001:3001(1000)
        +0    state Established
        ",
    );
}
