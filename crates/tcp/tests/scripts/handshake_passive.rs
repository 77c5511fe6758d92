//! Opening passively.
//!
//! //= RFC 9293, section 3.10.7.2: a SYN is answered with SYN-ACK; an ACK without a connection with
//! a reset.

use lasthop_tcp::Config;

use crate::script::{Open, Script, config};

#[test]
fn a_syn_is_answered_with_the_options_that_both_have() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ..config() };
    Script::new(Open::Listen, config).run(
        "
        +0    < S 0:0 win 9000 <mss 700, wscale 4, sackOK, TS 3000000000 0>
        +0    > S. 0:0 ack 1 win 65535 <mss 1000, wscale 2, sackOK, TS 1 3000000000>
        +0    state SynReceived
        +10ms < . ack 1 win 1000 <TS 3000000010 1>
        +0    state Established mss 688 window 16000
        ",
    );
}

#[test]
fn options_that_the_peer_did_not_offer_are_left_out() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ..config() };
    Script::new(Open::Listen, config).run(
        "
        +0    < S 0:0 win 9000
        +0    > S. 0:0 ack 1 win 65535 <mss 1000>
        +10ms < . ack 1 win 9000
        +0    mss 536 window 9000
        ",
    );
}

#[test]
fn scaling_that_the_peer_offers_is_accepted_even_if_our_own_window_needs_none() {
    Script::new(Open::Listen, config()).run(
        "
        +0    < S 0:0 win 9000 <mss 1000, wscale 4>
        +0    > S. 0:0 ack 1 win 65535 <mss 1000, wscale 0>
        +10ms < . ack 1 win 9000
        +0    window 144000
        ",
    );
}

#[test]
fn a_lost_syn_ack_is_sent_again_by_the_timer_and_on_another_syn() {
    Script::new(Open::Listen, config()).run(
        "
        +0    < S 0:0 win 9000 <mss 1000>
        +0    > S. 0:0 ack 1
        1s    > S. 0:0 ack 1
        1.5s  < S 0:0 win 9000 <mss 1000>
        +0    > S. 0:0 ack 1
        +10ms < . 1:1 ack 1
        +0    state Established srtt none
        ",
    );
}

#[test]
fn data_with_the_third_segment_is_taken() {
    Script::new(Open::Listen, config()).run(
        "
        +0    < S 0:0 win 9000 <mss 1000>
        +0    > S. 0:0 ack 1
        +10ms < 1:501(500) ack 1
        +0    > . 1:1 ack 501
        +0    received 500
        ",
    );
}

#[test]
fn what_is_no_syn_gets_no_connection() {
    Script::new(Open::Listen, config()).run(
        "
        +0    < R 0:0
        +0    < F 0:0
        +0    < . 5:5 ack 90
        +0    > R 90:90
        +0    state Listen
        ",
    );
}

#[test]
fn a_wrong_acknowledgment_of_our_syn_is_reset() {
    Script::new(Open::Listen, config()).run(
        "
        +0    < S 0:0 win 9000 <mss 1000>
        +0    > S. 0:0 ack 1
        +0    < . 1:1 ack 9
        +0    > R 9:9
        +0    state SynReceived
        ",
    );
}
