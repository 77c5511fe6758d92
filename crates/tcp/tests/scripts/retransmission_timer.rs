//! One timer, for the oldest outstanding segment.
//!
//! //= RFC 6298, section 5: (5.1) runs while data is outstanding, (5.2) is off when all is
//! acknowledged, (5.3) restarts with an ACK //= of new data.

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn it_restarts_with_an_ack_of_new_data_and_is_off_when_all_is_acknowledged() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    timer none
        +0    write 2000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    timer 1s
        +300ms timer 700ms
        +0    < . ack 1001
        +0    timer 1s                     # from now on; 300 ms + 4 * 150 ms is less than the minimum
        +100ms < . ack 2001
        +0    timer none
        ",
    );
}

#[test]
fn a_duplicate_ack_does_not_touch_it() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +300ms < . ack 1
        +0    timer 700ms duplicates 1
        ",
    );
}

#[test]
fn a_later_segment_does_not_touch_it() {
    Script::established(Config { initial_window: 2, ..config() }).run(
        "
        +0    write 500
        +0    > 1:501(500)
        +300ms write 500
        +0    > 501:1001(500)
        +0    timer 700ms
        ",
    );
}
