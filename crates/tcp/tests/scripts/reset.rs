//! Blind resets and SYNs do no harm.
//!
//! //= RFC 5961, section 3.2: only a reset at RCV.NXT resets; section 4.2: a SYN is answered with a
//! challenge ACK.

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn a_reset_at_the_expected_number_closes() {
    Script::established(config()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +0    < R 1:1
        +0    state Closed timer none
        ",
    );
}

#[test]
fn a_reset_elsewhere_in_the_window_is_challenged_and_outside_ignored() {
    Script::established(Config { window: 4000, ..config() }).run(
        "
        +0    < R 2:2
        +0    > . 1:1 ack 1
        +500ms < R 4000:4000
        +0    > . 1:1 ack 1
        +0    < R 4001:4001
        +0    < R 0:0
        +0    state Established
        ",
    );
}

#[test]
fn a_reset_gets_through_a_closed_window() {
    Script::established(Config { window: 1000, ..config() }).run(
        "
        +0    stall
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 0
        +0    < R 1001:1001
        +0    state Closed
        ",
    );
}

#[test]
fn a_syn_in_or_out_of_the_window_is_challenged() {
    Script::established(config()).run(
        "
        +0    < S 100:100
        +0    > . 1:1 ack 1
        +500ms < S -500:-500
        +0    > . 1:1 ack 1
        +0    state Established
        ",
    );
}

//= RFC 5961, section 7: challenge ACKs are limited.
#[test]
fn of_many_segments_that_may_be_forged_one_in_half_a_second_is_challenged() {
    Script::established(config()).run(
        "
        +0    < S 100:100
        +0    > . 1:1 ack 1
        +0    < S 100:100
        +0    < R 2:2
        +499ms < . ack 5000
        +1ms  < R 2:2
        +0    > . 1:1 ack 1
        +0    < 1:1001(1000) ack 1         # what is to be acknowledged is
        +0    > . 1:1 ack 1001
        ",
    );
}

//= RFC 5961, section 5.2: an ACK further behind SND.UNA than the largest window offered is challenged, and its data discarded.
#[test]
fn a_segment_with_an_ack_that_is_too_old_is_challenged_and_not_taken() {
    Script::established(config()).peer_window(1000).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +0    < . ack 1001 win 1000
        +0    > 1001:2001(1000)
        +0    < . ack 2001
        +0    > 2001:3001(1000)
        +0    < . ack 3001
        +0    < 1:1001(1000) ack 2000
        +0    > . 3001:3001 ack 1
        +0    < 1:1001(1000) ack 2001          # was in flight when the last ACK left
        +0    > . 3001:3001 ack 1001
        ",
    );
}

#[test]
fn of_many_empty_segments_outside_the_window_one_in_half_a_second_is_answered() {
    Script::established(Config { window: 4000, ..config() }).run(
        "
        +0    < . 9000:9000 ack 1
        +0    > . 1:1 ack 1
        +499ms < . 9000:9000 ack 1         # or two ends would answer each other for ever
        +0    < 9000:9100(100) ack 1       # data is not an answer
        +0    > . 1:1 ack 1
        +1ms  < . 9000:9000 ack 1
        +0    > . 1:1 ack 1
        ",
    );
}
