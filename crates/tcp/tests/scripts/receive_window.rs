//! What the receiver advertises.
//!
//! //= RFC 9293, section 3.8.6: "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
//! window edge to the left".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn unread_data_closes_the_window_and_reading_opens_it_with_an_update() {
    Script::established(Config { window: 4000, ..config() }).run(
        "
        +0    stall
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 3000
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 2001 win 2000
        +0    < 2001:4001(2000) ack 1
        +0    > . ack 4001 win 0
        +0    < 4001:4002(1) ack 1         # a probe
        +0    > . ack 4001 win 0
        +1s   read
        +0    > . ack 4001 win 4000
        +0    received 4000
        ",
    );
}

//= RFC 9293, section 3.8.6.2.2: silly windows are not advertised.
#[test]
fn the_window_opens_by_a_segment_or_half_the_buffer_or_not_at_all() {
    Script::established(Config { window: 4000, ..config() }).run(
        "
        +0    < 1:401(400) ack 1
        +0    > . ack 401 win 3600
        +0    < 401:801(400) ack 1
        +0    > . ack 801 win 3200
        +0    < 801:1201(400) ack 1
        +0    > . ack 1201 win 4000
        ",
    );
}

#[test]
fn rounding_by_the_scale_does_not_move_the_edge_back() {
    Script::established(Config { window: 200_000, ..config() }).run(
        "
        +0    stall
        +0    < 1:2(1) ack 1
        +0    > . ack 2 win 50000          # 199999 rounded up to what a field can tell
        +0    < 2:6(4) ack 1
        +0    > . ack 6 win 49999
        ",
    );
}

#[test]
fn data_outside_the_window_is_cut_and_answered() {
    Script::established(Config { window: 4000, ..config() }).run(
        "
        +0    stall
        +0    < 3001:5001(2000) ack 1      # a thousand of it fit
        +0    > . ack 1 win 4000
        +0    < 4001:5001(1000) ack 1      # nothing of it fits
        +0    > . ack 1 win 4000
        +0    < 1:3001(3000) ack 1
        +0    > . ack 4001 win 0
        +0    < 1:1001(1000) ack 1         # known already
        +0    > . ack 4001 win 0
        ",
    );
}

#[test]
fn an_ack_counts_although_the_window_is_closed() {
    Script::established(Config { window: 1000, ..config() }).run(
        "
        +0    stall
        +0    write 1000
        +0    > 1:1001(1000)
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 0
        +0    < 1001:1002(1) ack 1001      # a probe that acknowledges
        +0    > . ack 1001 win 0
        +0    una 1001 unacknowledged 0
        ",
    );
}
