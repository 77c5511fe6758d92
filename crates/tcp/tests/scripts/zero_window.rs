//! Probing a closed window.
//!
//! //= RFC 9293, section 3.8.6.1: "The sending TCP peer must regularly transmit at least one octet
//! of new data [...] even if the //= send window is zero"; the connection stays open as long as the
//! probes are answered.

use lasthop_tcp::Config;

use crate::script::{ALONE, Script, config, rack};

#[test]
fn a_closed_window_is_probed_with_back_off_and_answers_are_no_duplicates() {
    Script::established(Config { max_timeouts: 3, ..config() }).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        +0    cwnd 2000
        1.01s > 1001:1002(1)
        +1ms  < . ack 1001 win 0
        3.01s > 1001:1002(1)
        +1ms  < . ack 1001 win 0
        7.01s > 1001:1002(1)
        +1ms  < . ack 1001 win 0
        15.01s > 1001:1002(1)
        +1ms  < . ack 1001 win 0
        31.01s > 1001:1002(1)              # more than max_timeouts, but the peer answers
        +1ms  < . ack 1001 win 0
        +0    duplicates 0 cwnd 2000 timeouts 0 fast_retransmits 0 retransmits 0 state Established
        40s   < . ack 1001 win 5000
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    rto 1s
        ",
    );
}

#[test]
fn an_octet_that_the_peer_took_is_not_sent_again() {
    Script::established(config()).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        1.01s > 1001:1002(1)
        +1ms  < . ack 1002 win 4000
        +0    > 1002:2002(1000)
        +0    > 2002:3001(999)
        ",
    );
}

#[test]
fn without_any_answer_the_connection_is_given_up() {
    Script::established(Config { max_timeouts: 2, ..config() }).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        1.01s > 1001:1002(1)
        3.01s > 1001:1002(1)
        7.01s > R. 1001:1001
        +0    state Closed
        ",
    );
}

// Linux `tcp_may_update_window`: a receiver that is out of memory drops data that it had offered room for.
#[test]
fn a_window_that_closes_without_progress_is_closed() {
    Script::established(Config { max_timeouts: 3, ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +10ms < . ack 1 win 0
        +0    window 0
        1s    timeouts 1
        3s    > 1:2(1)
        +1ms  < . ack 1 win 0
        7s    > 1:2(1)
        +1ms  < . ack 1 win 0
        15s   > 1:2(1)
        +1ms  < . ack 1 win 0
        31s   > 1:2(1)
        +1ms  < . ack 1 win 0
        63s   > 1:2(1)
        +1ms  < . ack 1 win 5000
        +0    > 1:1001(1000)
        +0    duplicates 0 state Established
        ",
    );
}

/// The same where what is lost goes again segment by segment.
#[test]
fn what_goes_again_into_a_closed_window_is_answered_and_so_the_connection_stays_open() {
    Script::established(Config { max_timeouts: 3, ..rack(ALONE) }).run(
        "
        +0    write 2000
        +0    >> 1:2001(2000)
        +10ms < . ack 1 win 0
        1s    > 1:1001(1000)
        +1ms  < . ack 1 win 0
        3s    > 1:1001(1000)
        +1ms  < . ack 1 win 0
        7s    > 1:1001(1000)
        +1ms  < . ack 1 win 0
        15s   > 1:1001(1000)
        +1ms  < . ack 1 win 0
        31s   > 1:1001(1000)
        +1ms  < . ack 1 win 0
        +0    state Established
        ",
    );
}

#[test]
fn no_probe_without_data() {
    Script::established(config()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        +0    timer none
        ",
    );
}

#[test]
fn a_fin_needs_no_window() {
    Script::established(config()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        +0    close
        +0    > F. 1001:1001
        +10ms < . ack 1002 win 0
        +0    state FinWait2
        ",
    );
}

// A peer whose window is closed accepts no number behind it (RFC 9293, section 3.10.7.4), and does not
// read the acknowledgment of what it does not accept; Linux neither (`tcp_sequence`).
#[test]
fn while_a_probe_is_not_taken_acks_have_the_number_that_the_peer_expects() {
    Script::established(config()).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        1.01s > 1001:1002(1)
        +1ms  < 1:1001(1000) ack 1001 win 0
        +0    > . 1001:1001 ack 1001
        ",
    );
}

#[test]
fn while_a_probe_is_not_taken_a_reset_has_the_number_that_the_peer_expects() {
    Script::established(config()).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 0
        1.01s > 1001:1002(1)
        +1ms  < . ack 1001 win 0
        +0    abort
        +0    > R. 1001:1001
        ",
    );
}
