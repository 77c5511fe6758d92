//! Closing.
//!
//! //= RFC 9293, section 3.6: cases 1 to 3; section 3.10.7.4, eighth: check the FIN bit.

use lasthop_tcp::Config;

use crate::script::{Open, Script, config};

#[test]
fn the_active_side_goes_through_fin_wait_and_time_wait() {
    Script::established(config()).run(
        "
        +0    write 500
        +0    > 1:501(500)
        +0    close
        +0    > F. 501:501
        +0    state FinWait1
        +10ms < . ack 501
        +0    state FinWait1
        +10ms < . ack 502
        +0    state FinWait2 timer none
        +10ms < 1:101(100) ack 502         # half open: the peer may go on
        +0    > . 502:502 ack 101
        +10ms < F. 101:101 ack 502
        +0    > . 502:502 ack 102
        +0    state TimeWait received 100 timer 60s
        +30s  < F. 101:101 ack 502         # our ACK was lost
        +0    > . 502:502 ack 102
        +0    timer 60s
        +60s  state Closed timer none
        ",
    );
}

#[test]
fn the_passive_side_goes_through_close_wait_and_last_ack() {
    Script::established(config()).run(
        "
        +0    < F. 1:1 ack 1
        +0    > . 1:1 ack 2
        +0    state CloseWait peer_has_closed true
        +0    write 500
        +0    > 1:501(500) ack 2
        +0    close
        +0    > F. 501:501 ack 2
        +0    state LastAck
        +10ms < . ack 502
        +0    state Closed timer none unacknowledged 0
        ",
    );
}

#[test]
fn both_sides_may_close_at_once() {
    Script::established(config()).run(
        "
        +0    close
        +0    > F. 1:1 ack 1
        +10ms < F. 1:1 ack 1
        +0    > . 2:2 ack 2
        +0    state Closing
        +10ms < . ack 2
        +0    state TimeWait timer 60s
        ",
    );
}

#[test]
fn a_fin_that_acknowledges_ours_leads_straight_to_time_wait() {
    Script::established(config()).run(
        "
        +0    close
        +0    > F. 1:1 ack 1
        +10ms < F. 1:1 ack 2
        +0    > . 2:2 ack 2
        +0    state TimeWait
        ",
    );
}

#[test]
fn a_lost_fin_is_sent_again() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    write 1500
        +0    > 1:1001(1000)
        +0    > 1001:1501(500)
        +0    close
        +0    > F. 1501:1501
        +10ms < . ack 1501
        1.01s > F. 1501:1501
        +0    state FinWait1
        +10ms < . ack 1502
        +0    state FinWait2 retransmits 1
        ",
    );
}

#[test]
fn data_lost_before_the_fin_goes_again_first_and_the_fin_behind_it() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    write 1500
        +0    > 1:1001(1000)
        +0    > 1001:1501(500)
        +0    close
        +0    > F. 1501:1501
        1s    > 1:1001(1000)
        +10ms < . ack 1001
        +0    > 1001:1501(500)
        +0    > F. 1501:1501
        +10ms < . ack 1502
        +0    state FinWait2
        ",
    );
}

#[test]
fn a_fast_retransmission_of_the_last_segment_carries_the_fin() {
    Script::established(config()).run(
        "
        +0    write 500
        +0    > 1:501(500)
        +0    close
        +0    > F. 501:501
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > F. 1:501(500)
        +10ms < . ack 502
        +0    state FinWait2
        ",
    );
}

#[test]
fn a_fin_ahead_of_a_gap_waits_and_nothing_counts_behind_it() {
    Script::established(config()).run(
        "
        +0    < F. 1001:1501(500) ack 1
        +0    > . ack 1
        +0    state Established peer_has_closed false
        +0    < 1501:2001(500) ack 1       # behind the FIN
        +0    > . ack 1
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1502
        +0    state CloseWait received 1500
        +0    < 1502:2001(499) ack 1
        +0    > . ack 1502
        +0    received 1500
        ",
    );
}

#[test]
fn a_fin_at_the_end_of_a_full_window_is_taken() {
    Script::established(Config { window: 1000, ..config() }).run(
        "
        +0    stall
        +0    < F. 1:1001(1000) ack 1
        +0    > . ack 1002 win 0
        +0    state CloseWait
        +0    < 5000:6000(1000) ack 1      # the window is closed for good
        +0    > . ack 1002 win 0
        ",
    );
}

#[test]
fn closing_before_the_handshake_is_done_sends_what_was_written_first() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +0    write 100
        +0    close
        +10ms < S. 0:0 ack 1 win 9000 <mss 1000>
        +0    > 1:101(100) ack 1
        +0    > F. 101:101
        ",
    );
}

#[test]
fn an_abort_resets_behind_all_that_was_sent() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        1s    > 1:1001(1000)
        +0    abort
        +0    > R. 2001:2001 ack 1
        +0    state Closed timer none
        +10ms < . ack 1001                 # and whoever did not hear it is told again
        +0    > R 1001:1001
        ",
    );
}

#[test]
fn an_abort_before_the_peer_answered_is_silent() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +0    abort
        +0    state Closed timer none
        ",
    );
}
