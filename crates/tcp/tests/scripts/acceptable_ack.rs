//! Which ACK numbers count.
//!
//! //= RFC 9293, section 3.10.7.4: "If the ACK acks something not yet sent (SEG.ACK > SND.NXT),
//! then send an ACK, drop the segment"; //= "If the ACK is a duplicate (SEG.ACK =< SND.UNA), it can
//! be ignored".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn what_was_never_sent_is_not_acknowledged_and_its_data_is_dropped() {
    Script::established(config()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms < . ack 1002
        +0    > . 1001:1001 ack 1
        +500ms < 1:101(100) ack 5000
        +0    > . 1001:1001 ack 1
        +0    una 1 received 0 cwnd 1000
        ",
    );
}

#[test]
fn what_was_sent_before_a_time_out_may_be_acknowledged_after_it() {
    Script::established(Config { initial_window: 3, ..config() }).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        1s    > 1:1001(1000)
        +10ms < . ack 3001
        +0    una 3001 nxt 4001
        +0    > 3001:4001(1000)
        ",
    );
}

#[test]
fn an_ack_after_a_time_out_carries_a_number_that_the_peer_accepts() {
    Script::established(Config { initial_window: 3, ..config() }).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        1s    > 1:1001(1000)
        +10ms < 1:101(100) ack 1
        +0    > . 3001:3001 ack 101
        ",
    );
}

#[test]
fn a_segment_without_ack_is_ignored() {
    Script::established(config()).run(
        "
        +0    < F 1:1
        +0    state Established
        ",
    );
}
