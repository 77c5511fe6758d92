//! Both ends open.
//!
//! //= RFC 9293, section 3.5, figure 7: each SYN is answered with SYN-ACK; section 3.10.7.3: a SYN
//! without ACK in SYN-SENT leads to SYN-RECEIVED.

use lasthop_tcp::Config;

use crate::script::{Open, Script, config};

#[test]
fn syns_that_cross_are_each_answered_and_the_peers_answer_establishes() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0 win 65535 <mss 1000>
        +10ms < S 0:0 win 4000 <mss 800>
        +0    > S. 0:0 ack 1 win 65535 <mss 1000>
        +0    state SynReceived
        +5ms  < S. 0:0 ack 1 win 4000 <mss 800>
        +0    > . 1:1 ack 1 <>
        +0    state Established mss 800 window 4000
        +0    < 1:501(500) ack 1
        +0    > . ack 501
        ",
    );
}

#[test]
fn a_plain_acknowledgment_establishes_too() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < S 0:0 win 4000 <mss 1000>
        +0    > S. 0:0 ack 1
        +5ms  < . 1:1 ack 1 win 5000
        +0    state Established window 5000
        ",
    );
}

#[test]
fn options_are_used_that_both_syns_have() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ..config() };
    Script::new(Open::Connect, config.clone()).run(
        "
        +0    > S 0:0 win 65535 <mss 1000, wscale 2, sackOK, TS 1 0>
        +10ms < S 0:0 win 9000 <mss 700, wscale 4, sackOK, TS 700 0>
        +0    > S. 0:0 ack 1 win 65535 <mss 1000, wscale 2, sackOK, TS 11 700>
        +5ms  < S. 0:0 ack 1 win 9000 <mss 700, wscale 4, sackOK, TS 705 11>
        +0    > . 1:1 ack 1 win 50000 <TS 16 700>
        +0    mss 688
        +0    < . ack 1 win 1000 <TS 705 16>
        +0    window 16000
        ",
    );
    Script::new(Open::Connect, config).run(
        "
        +0    > S 0:0 win 65535 <mss 1000, wscale 2, sackOK, TS 1 0>
        +10ms < S 0:0 win 9000 <mss 700>
        +0    > S. 0:0 ack 1 win 65535 <mss 1000>
        +5ms  < S. 0:0 ack 1 win 9000 <mss 700>
        +0    > . 1:1 ack 1 win 65535 <>
        +0    mss 700 window 9000
        ",
    );
}

#[test]
fn an_answer_that_is_lost_goes_again() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < S 0:0 win 4000 <mss 1000>
        +0    > S. 0:0 ack 1
        1.01s > S. 0:0 ack 1
        +10ms < S 0:0 win 4000 <mss 1000>      # the peer has not heard of us yet
        +0    > S. 0:0 ack 1
        +5ms  < . 1:1 ack 1
        +0    state Established srtt none
        ",
    );
}

#[test]
fn two_ends_that_open_towards_each_other_do_not_answer_each_other_for_ever() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < S 0:0 win 4000 <mss 1000>
        +0    > S. 0:0 ack 1
        +5ms  < S. 0:0 ack 1 win 4000 <mss 1000>
        +0    > . 1:1 ack 1
        +1ms  < S. 0:0 ack 1 win 4000 <mss 1000>
        +500ms < S. 0:0 ack 1 win 4000 <mss 1000>
        +0    > . 1:1 ack 1                     # RFC 5961, section 4.2: challenged, and not each
        +1ms  < . 1:1 ack 1
        +0    state Established timer none
        ",
    );
}

#[test]
fn a_reset_in_between_refuses() {
    Script::new(Open::Connect, config()).run(
        "
        +0    > S 0:0
        +10ms < S 0:0 win 4000 <mss 1000>
        +0    > S. 0:0 ack 1
        +5ms  < R. 1:1 ack 1
        +0    state Closed timer none
        ",
    );
}
