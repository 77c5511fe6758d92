//! Silly window avoidance by the sender; Nagle's algorithm is off.
//!
//! //= RFC 9293, section 3.8.6.2.1: a full segment, or all that there is, or nothing else in
//! flight.

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn a_part_of_a_segment_waits_while_something_is_in_flight() {
    Script::established(Config { initial_window: 10, ..config() }).peer_window(1700).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 win 1700
        +0    > 1001:2001(1000)
        +10ms < . ack 2001 win 300
        +0    > 2001:2301(300)             # nothing in flight: better little than nothing
        ",
    );
}

#[test]
fn the_last_octets_go_at_once() {
    Script::established(Config { initial_window: 10, ..config() }).run(
        "
        +0    write 1200
        +0    > 1:1001(1000)
        +0    > 1001:1201(200)
        +0    write 5
        +0    > 1201:1206(5)
        ",
    );
}
