//! Opening actively.
//!
//! //= RFC 9293, section 3.5: SYN, SYN-ACK, ACK; RFC 7323, section 2.2: a SYN's window is never
//! scaled.

use lasthop_tcp::Config;

use crate::script::{Open, Script, config};

#[test]
fn a_plain_syn_offers_the_segment_size_and_the_third_segment_acknowledges() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0 win 65535 <mss 1000>
        +10ms < S. 0:0 ack 1 win 4000 <mss 800>
        +0    > . 1:1 ack 1 <>
        +0    state Established mss 800 cwnd 800 window 4000 rto 1s srtt 10ms
        ",
    );
}

#[test]
fn all_options_are_offered_and_used_if_the_peer_agrees() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ..config() };
    Script::new(Open::Connect, config).run(
        "
        +0    > S 0:0 win 65535 <mss 1000, wscale 2, sackOK, TS 1 0>
        +10ms < S. 0:0 ack 1 win 60000 <mss 1000, wscale 3, sackOK, TS 700 1>
        +0    > . 1:1 ack 1 win 50000 <TS 11 700>
        +0    mss 988 window 60000
        +0    < . ack 1 win 1000 <TS 701 11>
        +0    window 8000         # that of a SYN is not scaled, others are
        +0    < . ack 1 win 8000 <TS 701 11>
        +0    window 64000
        ",
    );
}

#[test]
fn what_the_peer_does_not_agree_to_is_not_used() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ..config() };
    Script::new(Open::Connect, config).run(
        "
        +0    > S 0:0 win 65535 <mss 1000, wscale 2, sackOK, TS 1 0>
        +10ms < S. 0:0 ack 1 win 60000
        +0    > . 1:1 ack 1 win 65535 <>
        +0    mss 536             # RFC 9293, section 3.7.1: the default
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 1 <>
        ",
    );
}

#[test]
fn options_that_were_not_offered_are_ignored_in_the_answer() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0 <mss 1000>
        +10ms < S. 0:0 ack 1 win 60000 <mss 1000, wscale 5, sackOK, TS 700 1>
        +0    > . 1:1 ack 1 <>
        +0    < . ack 1 win 61000
        +0    window 61000
        ",
    );
}

#[test]
fn a_lost_syn_is_sent_again_with_back_off_and_the_first_window_is_one_segment() {
    Script::new(Open::Connect, Config { initial_window: 4, ..config() }).run(
        "
        +0    > S 0:0
        1s    > S 0:0
        3s    > S 0:0
        +50ms < S. 0:0 ack 1 win 60000 <mss 1000>
        +0    > . 1:1 ack 1
        +0    cwnd 1000 rto 4s srtt none      # Karn: which SYN was answered is not known
        ",
    );
}

#[test]
fn a_syn_that_nobody_answers_is_given_up() {
    Script::new(Open::Connect, Config { max_timeouts: 2, ..config() }).run(
        "
        +0    > S 0:0
        1s    > S 0:0
        3s    > S 0:0
        7s    state Closed timer none
        ",
    );
}

#[test]
fn a_reset_that_acknowledges_the_syn_refuses_and_another_does_not() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < R 0:0
        +0    < R. 0:0 ack 5
        +0    state SynSent
        +0    < R. 0:0 ack 1
        +0    state Closed timer none
        ",
    );
}

#[test]
fn an_acknowledgment_of_something_else_is_reset_so_that_the_peer_forgets_its_old_connection() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < . 300:300 ack 77
        +0    > R 77:77
        1s    > S 0:0
        +10ms < S. 0:0 ack 1
        +0    > . 1:1 ack 1
        ",
    );
}

#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < S. 0:0 ack 1 <mss 1000>
        +0    > . 1:1 ack 1
        +1s   < S. 0:0 ack 1 <mss 1000>
        +0    > . 1:1 ack 1
        +0    state Established
        ",
    );
}
