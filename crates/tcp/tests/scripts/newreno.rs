//! NewReno (RFC 6582): recovery from several losses in one window without a time-out.

use lasthop_tcp::{Config, Recovery};

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

fn newreno() -> Config {
    Config { recovery: Recovery::NewReno, ..config() }
}

fn eight(rest: &str) {
    Script::established(Config { initial_window: 8, ..newreno() }).run(&format!("{EIGHT}{rest}"));
}

//= RFC 6582, section 3.2, step 3: "retransmit the first unacknowledged segment. Deflate the congestion window by the amount of new
//= data acknowledged [...]. If the partial ACK acknowledges at least one SMSS of new data, then add back SMSS bytes [...]. Send a
//= new segment if permitted by the new value of cwnd. [...] Do not exit the fast recovery procedure".
#[test]
fn a_partial_ack_retransmits_the_next_hole_and_deflates_and_recovery_goes_on() {
    eight(
        "
        +10ms < . ack 1                    # 1:1001 and 3001:4001 are lost
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    ssthresh 4000 cwnd 7000
        +0    < . ack 1
        +0    < . ack 1
        +0    > 8001:9001(1000)
        +0    < . ack 1
        +0    > 9001:10001(1000)
        +0    cwnd 10000
        +10ms < . ack 3001                 # partial: 8001 was reached when the loss was inferred
        +0    > 3001:4001(1000)
        +0    > 10001:11001(1000)
        +0    ssthresh 4000 cwnd 8000
        +10ms < . ack 3001
        +0    > 11001:12001(1000)
        +0    < . ack 3001
        +0    > 12001:13001(1000)
        +0    < . ack 3001                 # no second fast retransmit
        +0    > 13001:14001(1000)
        +0    cwnd 11000
        +10ms < . ack 8001                 # all that was in flight
        +0    cwnd 4000 ssthresh 4000 retransmits 2 fast_retransmits 1 timeouts 0
        +0    < . ack 11001                # congestion control opens the window again
        +0    > 14001:15001(1000)
        +0    > 15001:16001(1000)
        +0    cwnd 5000
        ",
    );
}

#[test]
fn a_partial_ack_of_less_than_a_segment_adds_nothing_back() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 501
        +0    > 501:1501(1000)
        +0    cwnd 6500
        ",
    );
}

#[test]
fn however_little_is_left_to_deflate_a_segment_can_go() {
    // The duplicate ACKs behind the third were lost.
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 7001
        +0    > 7001:8001(1000)
        +0    cwnd 1000
        +10ms < . ack 7501
        +0    > 7501:8001(500)
        +0    cwnd 1000
        ",
    );
}

// Slow but steady. RFC 6582, section 3.2, has it so for the first partial ACK only.
//= RFC 6298, section 5.3: "When an ACK is received that acknowledges new data, restart the retransmission timer".
#[test]
fn every_partial_ack_restarts_the_timer() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +600ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    timer 1s
        +600ms < . ack 2001
        +0    > 2001:3001(1000)
        +0    > 8001:9001(1000)
        +0    timer 1s
        +600ms < . ack 3001
        +0    > 3001:4001(1000)
        +0    > 9001:10001(1000)
        +0    timer 1s timeouts 0
        +1s   > 3001:4001(1000)
        +0    timeouts 1
        ",
    );
}

//= RFC 6582, section 3.2, step 4: "After a retransmit timeout, record the highest sequence number transmitted in the variable
//= recover, and exit the fast recovery procedure if applicable."
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
        +10ms < . ack 1001                 # no partial ACK now: slow start
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    cwnd 2000
        ",
    );
}

//= RFC 6582, section 3.2, step 2: "If not, the TCP does not enter fast retransmit and does not reset
//= ssthresh."
#[test]
fn duplicates_of_needless_retransmissions_after_a_time_out_retransmit_nothing() {
    eight(
        "
        1s    > 1:1001(1000)
        +1ms  < . ack 8001                 # all the ACKs were late
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +1ms  < . ack 8001
        +0    < . ack 8001
        +0    < . ack 8001
        +0    < . ack 8001
        +0    cwnd 2000 ssthresh 4000 fast_retransmits 0
        +1ms  < . ack 9001                 # more than recover: from now on duplicate ACKs mean a loss
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +1ms  < . ack 9001
        +0    < . ack 9001
        +0    < . ack 9001
        +0    > 9001:10001(1000)
        +0    fast_retransmits 1
        ",
    );
}

#[test]
fn duplicates_at_the_end_of_recovery_retransmit_nothing() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 8001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +10ms < . ack 8001
        +0    < . ack 8001
        +0    < . ack 8001
        +0    cwnd 4000 ssthresh 4000 fast_retransmits 1
        ",
    );
}

//= RFC 6582, section 4.1: "check to see if the congestion window is greater than SMSS bytes and the difference between
//= highest_ack and prev_highest_ack is at most 4*SMSS bytes. If true, duplicate ACKs indicate a lost segment".
#[test]
fn after_a_time_out_duplicates_behind_a_small_advance_mean_a_loss() {
    eight(
        "
        1s    > 1:1001(1000)
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    cwnd 2000
        +10ms < . ack 1001
        +0    < . ack 1001
        +0    < . ack 1001
        +0    > 1001:2001(1000)
        +0    cwnd 5000 ssthresh 2000 fast_retransmits 1
        +10ms < . ack 4001                 # partial; what is lost there is next anyhow, and goes once
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    cwnd 3000 nxt 7001 max 8001
        +10ms < . ack 8001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    cwnd 2000
        ",
    );
}

#[test]
fn after_a_time_out_duplicates_with_a_window_of_one_segment_mean_nothing() {
    eight(
        "
        1s    > 1:1001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    cwnd 1000 ssthresh 4000 fast_retransmits 0
        ",
    );
}
