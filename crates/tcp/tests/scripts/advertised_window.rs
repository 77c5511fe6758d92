//! Never more in flight than the peer advertises.
//!
//! //= RFC 9293, section 3.8.6: "The sending TCP endpoint packages the data to be transmitted into
//! segments that fit the current window".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn the_smaller_of_both_windows_limits() {
    Script::established(Config { initial_window: 10, ..config() }).peer_window(2000).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +10ms < . ack 1001 win 3000
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 4001 win 1000
        +0    > 4001:5001(1000)
        ",
    );
}

#[test]
fn a_window_update_lets_more_go() {
    Script::established(Config { initial_window: 10, ..config() }).peer_window(1000).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +10ms < . ack 1 win 2000
        +0    > 1001:2001(1000)
        +0    duplicates 0
        ",
    );
}

#[test]
fn an_older_smaller_window_with_the_same_number_is_ignored() {
    Script::established(config()).run(
        "
        +0    < . ack 1 win 4000
        +0    window 65535
        +0    < 1:11(10) ack 1 win 4000
        +0    > . ack 11
        +0    < . 1:1 ack 1 win 60000      # from before that data: outside the window, answered
        +0    > . ack 11
        +0    < . ack 1 win 4000           # no change
        +0    window 4000
        ",
    );
}

#[test]
fn scaled_windows_go_beyond_16_bits() {
    Script::established(Config { initial_window: 100, window: 1 << 20, ..config() }).peer_window(70_000).run(
        "
        +0    window 70000
        +0    < . ack 1 win 50000          # shift 1
        +0    window 100000
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 32768          # shift 5: with 4, 2^20 would be one too many for a field
        ",
    );
}
