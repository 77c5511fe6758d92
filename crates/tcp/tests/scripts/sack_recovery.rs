//! Loss recovery by SACK blocks (RFC 6675).

use lasthop_tcp::{Config, Recovery};

use crate::script::{Script, config};

fn sack() -> Config {
    Config { initial_window: 8, recovery: Recovery::Sack, sack: true, ..config() }
}

fn eight_of(octets: u32, config: Config, rest: &str) {
    Script::established(config).run(&format!(
        "
        +0    write {octets}
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        {rest}"
    ));
}

fn eight(rest: &str) {
    eight_of(30_000, sack(), rest);
}

//= RFC 6675, section 5, steps 4.1 to 4.5, A and C: RecoveryPoint, ssthresh and cwnd; then what cwnd - pipe allows.
#[test]
fn the_third_duplicate_retransmits_and_then_the_pipe_lets_new_data_go() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    cwnd 8000
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    ssthresh 4000 cwnd 4000 fast_retransmits 1 timer 1s
        +0    < . ack 1 <sack 1001:5001>   # pipe: three that were not reported, and the retransmission
        +0    < . ack 1 <sack 1001:6001>
        +0    > 8001:9001(1000)
        +0    < . ack 1 <sack 1001:7001>
        +0    > 9001:10001(1000)
        +0    < . ack 1 <sack 1001:8001>
        +0    > 10001:11001(1000)
        +0    cwnd 4000
        +10ms < . ack 8001
        +0    > 11001:12001(1000)
        +0    cwnd 4000 ssthresh 4000 retransmits 1 timeouts 0
        ",
    );
}

//= RFC 6675, section 5, step 2: IsLost (HighACK + 1) begins recovery, however few duplicate ACKs there were.
#[test]
fn more_than_two_segments_above_the_gap_begin_recovery_at_the_first_duplicate() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:3001>
        +0    fast_retransmits 0
        +0    < . ack 1 <sack 1001:3002>
        +0    > 1:1001(1000)
        +0    duplicates 2 fast_retransmits 1
        ",
    );
}

#[test]
fn three_blocks_above_the_gap_begin_recovery_too() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:1101, sack 3001:3101, sack 5001:5101>
        +0    > 1:1001(1000)
        +0    duplicates 1 fast_retransmits 1
        ",
    );
}

//= RFC 6675, section 2: an ACK that reports new data is a duplicate, also one that carries data, changes the window, or moves the
//= cumulative acknowledgment; one that reports nothing new is none.
#[test]
fn what_is_a_duplicate_ack_is_told_by_its_blocks() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    duplicates 0
        +0    < . ack 1 win 60000 <sack 2001:3001>
        +0    < . ack 1 win 60000 <sack 2001:3001>
        +0    duplicates 1
        +0    < 1:101(100) ack 1 win 60000 <sack 2001:4001>
        +0    > . ack 101
        +0    duplicates 2
        +0    < . 101:101 ack 1001 win 60000 <sack 2001:4002>
        +0    > 1001:2001(1000)
        +0    duplicates 3 una 1001 fast_retransmits 1
        ",
    );
}

//= RFC 6675, section 4, NextSeg (), rule 1: what is lost goes first, in order, and then new data.
#[test]
fn every_gap_that_is_lost_is_filled_within_a_round_trip() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 3001:4001, sack 1001:2001>
        +0    < . ack 1 <sack 5001:6001, sack 3001:4001, sack 1001:2001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 5001:7001, sack 3001:4001, sack 1001:2001>
        +0    > 2001:3001(1000)
        +0    < . ack 1 <sack 5001:8001, sack 3001:4001, sack 1001:2001>
        +0    > 4001:5001(1000)
        +0    > 8001:9001(1000)
        +10ms < . ack 2001 <sack 5001:8001, sack 3001:4001>
        +0    > 9001:10001(1000)
        +0    < . ack 4001 <sack 5001:8001>
        +0    > 10001:11001(1000)
        +0    cwnd 4000
        +0    < . ack 8001
        +0    > 11001:12001(1000)
        +0    cwnd 4000 retransmits 3 fast_retransmits 1 timeouts 0
        ",
    );
}

//= RFC 6675, section 4, NextSeg (), rule 3: without new data, a gap that is not known to be lost.
#[test]
fn without_new_data_a_gap_that_may_be_lost_goes_too() {
    eight_of(
        8000,
        sack(),
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:5001>
        +0    < . ack 1 <sack 1001:6001>
        +0    < . ack 1 <sack 7001:8001, sack 1001:6001>
        +0    > 6001:7001(1000)
        +10ms < . ack 8001
        +0    retransmits 2 timeouts 0 timer none
        ",
    );
}

//= RFC 6675, section 4, NextSeg (), rule 4: one rescue of the last segment, once HighACK is beyond the first retransmission.
#[test]
fn a_lost_tail_is_rescued_once() {
    eight_of(
        8000,
        sack(),
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:6001>
        +10ms < . ack 6001                 # the last two are lost
        +0    > 7001:8001(1000)
        +10ms < . ack 6001 <sack 7001:8001>
        +0    > 6001:7001(1000)            # rule 3
        +10ms < . ack 8001
        +0    retransmits 3 timeouts 0
        ",
    );
}

#[test]
fn a_rescue_that_is_lost_waits_for_the_timer() {
    eight_of(
        8000,
        sack(),
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:7001>
        +10ms < . ack 7001
        +0    > 7001:8001(1000)
        +0    timer 1s
        +1s   > 7001:8001(1000)
        +0    timeouts 1 retransmits 3
        ",
    );
}

//= RFC 6675, section 5, step A: what is reported beyond RecoveryPoint is kept when recovery ends.
#[test]
fn what_was_reported_before_the_end_counts_for_the_next_recovery() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:8001>
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    > 10001:11001(1000)
        +10ms < . ack 8001 <sack 9001:11001>
        +0    > 11001:12001(1000)
        +0    cwnd 4000
        +0    < . ack 8001 <sack 11001:12001>
        +0    > 8001:9001(1000)
        +0    > 12001:13001(1000)
        +0    ssthresh 2000 duplicates 4 fast_retransmits 2
        ",
    );
}

//= RFC 2018, section 8: after a time-out what was reported counts no longer.
//= RFC 6675, section 5.1: what is reported from then on tells what to send.
#[test]
fn a_time_out_forgets_all_reports_and_what_is_reported_later_is_skipped() {
    eight(
        "
        +10ms < . ack 1 <sack 1001:3001>
        1s    > 1:1001(1000)
        +0    cwnd 1000 ssthresh 4000
        +10ms < . ack 1001 <sack 2001:4001>
        +0    > 1001:2001(1000)            # reported before the time-out
        +0    > 4001:5001(1000)            # 2001:4001 is reported since
        +0    cwnd 2000 nxt 5001 max 8001
        +10ms < . ack 5001
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    cwnd 3000
        ",
    );
}

//= RFC 6675, section 5.1: no recovery begins until HighACK reaches what had been sent before the time-out.
#[test]
fn after_a_time_out_duplicates_below_recovery_point_begin_nothing() {
    eight(
        "
        1s    > 1:1001(1000)
        +10ms < . ack 1 <sack 1001:5001>
        +0    duplicates 1 fast_retransmits 0 cwnd 1000
        +10ms < . ack 8001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +10ms < . ack 10001
        +0    > 10001:11001(1000)
        +0    > 11001:12001(1000)
        +0    > 12001:13001(1000)
        +10ms < . ack 10001 <sack 11001:12001>
        +0    < . ack 10001 <sack 11001:13001>
        +0    fast_retransmits 0
        ",
    );
}

//= RFC 6675, section 5, step 3: limited transmit.
#[test]
fn limited_transmit_sends_with_the_first_two_duplicates() {
    let config = Config { limited_transmit: true, ..sack() };
    eight_of(
        30_000,
        config,
        "
        +10ms < . ack 1 <sack 1001:2001>
        +0    > 8001:9001(1000)
        +0    < . ack 1 <sack 1001:3001>
        +0    > 9001:10001(1000)
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    ssthresh 4000 cwnd 4000
        ",
    );
}

#[test]
fn the_receivers_window_holds_new_data_back_and_gaps_go_all_the_same() {
    Script::established(sack()).peer_window(5000).run(
        "
        +0    write 30000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1 win 5000 <sack 1001:2001>
        +0    < . ack 1 win 5000 <sack 1001:2001, sack 3001:4001>
        +0    < . ack 1 win 5000 <sack 1001:2001, sack 3001:5001>
        +0    > 1:1001(1000)
        +0    ssthresh 2000 cwnd 2000
        +10ms < . ack 2001 win 3000 <sack 3001:5001>
        +0    > 2001:3001(1000)            # not known to be lost, but nothing else may go
        ",
    );
}

#[test]
fn where_the_peers_did_not_agree_it_is_newreno() {
    eight_of(
        30_000,
        Config { sack: false, ..sack() },
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    cwnd 7000
        +10ms < . ack 3001                 # a partial ACK
        +0    > 3001:4001(1000)
        +0    cwnd 5000
        ",
    );
}

#[test]
fn a_lost_fin_is_a_gap_like_any_other() {
    eight_of(
        8000,
        sack(),
        "
        +0    close
        +0    > F. 8001:8001 ack 1
        +10ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +10ms < . ack 8001
        +0    > F. 8001:8001 ack 1
        +10ms < . ack 8002
        +0    state FinWait2 timer none
        ",
    );
}
