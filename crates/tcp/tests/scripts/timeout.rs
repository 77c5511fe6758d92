//! What a time-out does (thesis, section 2.3.1).
//!
//! //= RFC 5681, section 3.1: "upon a timeout [...] cwnd MUST be set to no more than the loss
//! window, LW, which equals 1 full-sized //= segment".

use lasthop_tcp::{Config, GiveUp};

use crate::script::{Open, Script, config, rto};

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

// Linux (`tcp_retries2`, `retransmits_timed_out`): three time-outs that begin with 200 ms and double have
// taken 3 s with the one behind them.
#[test]
fn by_time_the_connection_is_given_up_at_the_first_time_out_after_as_many_of_the_kernels_would_have_taken() {
    let config = Config { give_up: GiveUp::Time, max_timeouts: 3, ..config() };
    Script::established(Config { rto: rto(500, 500, 1), ..config.clone() }).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        0.5s  > 1:1001(1000)
        1.5s  > 1:1001(1000)
        3.5s  > R. 1001:1001 ack 1         # 3 s after the first time-out
        +0    state Closed timeouts 3
        ",
    );
    Script::established(Config { rto: rto(20, 20, 1), ..config }).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        20ms  > 1:1001(1000)
        60ms  > 1:1001(1000)
        140ms > 1:1001(1000)
        300ms > 1:1001(1000)
        620ms > 1:1001(1000)
        1.26s > 1:1001(1000)
        2.54s > 1:1001(1000)
        5.1s  > R. 1001:1001 ack 1
        ",
    );
}

#[test]
fn by_time_the_clock_begins_anew_with_each_acknowledgment_of_something() {
    let config = Config { give_up: GiveUp::Time, max_timeouts: 0, rto: rto(500, 500, 1), ..config() };
    Script::established(config).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        0.5s  > 1:1001(1000)
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        1.51s > 1001:2001(1000)
        3.51s > R. 2001:2001 ack 1
        ",
    );
}

// Linux (`tcp_syn_retries`, `tcp_syn_linear_timeouts`).
#[test]
fn a_syn_goes_again_ten_times_as_in_linux_the_first_four_a_second_apart() {
    let config = Config { give_up: GiveUp::Time, rto: rto(1000, 200, 1), ..config() };
    let config = Config {
        rto: lasthop_tcp::RtoConfig { maximum: std::time::Duration::from_secs(120), ..config.rto },
        ..config
    };
    Script::new(Open::Connect, config.clone()).run(
        "
        +0    > S 0:0
        1s    > S 0:0
        2s    > S 0:0
        3s    > S 0:0
        4s    > S 0:0
        5s    > S 0:0
        7s    > S 0:0
        11s   > S 0:0
        19s   > S 0:0
        35s   > S 0:0
        67s   > S 0:0
        131s  state Closed
        ",
    );
    Script::new(Open::Listen, config).run(
        "
        +0    < S 0:0
        +0    > S. 0:0 ack 1
        1s    > S. 0:0 ack 1
        3s    > S. 0:0 ack 1
        7s    > S. 0:0 ack 1
        15s   > S. 0:0 ack 1
        31s   > S. 0:0 ack 1
        63s   > R. 1:1 ack 1
        +0    state Closed
        ",
    );
}
