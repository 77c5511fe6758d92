//! When the receiver acknowledges.
//!
//! //= RFC 5681, section 4.2: every second segment at least, within 500 ms; out of order and when a
//! gap is filled, at once.

use std::time::Duration;

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config};

const DELAYED: AckPolicy = AckPolicy::Delayed(Duration::from_millis(200));

fn delayed() -> Script {
    Script::established(Config { ack_policy: DELAYED, ..config() })
}

#[test]
fn every_segment_if_configured_so() {
    Script::established(config()).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 2001
        ",
    );
}

#[test]
fn every_second_segment_at_once_and_a_single_one_by_the_timer() {
    delayed().run(
        "
        +0    < 1:1001(1000) ack 1
        +0    timer 200ms
        +10ms < 1001:2001(1000) ack 1
        +0    > . ack 2001
        +0    timer none
        +0    < 2001:3001(1000) ack 1
        +200ms > . ack 3001
        +0    timer none
        ",
    );
}

#[test]
fn out_of_order_and_when_the_gap_is_filled_at_once() {
    delayed().run(
        "
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 1
        +0    < 3001:4001(1000) ack 1
        +0    > . ack 1
        +0    < 1:1001(1000) ack 1
        +0    > . ack 2001
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 4001
        +0    < 1:1001(1000) ack 1         # known already
        +0    > . ack 4001
        +0    < 4001:5001(1000) ack 1
        +0    timer 200ms received 5000
        ",
    );
}

#[test]
fn data_of_our_own_takes_the_ack_along() {
    delayed().run(
        "
        +0    < 1:1001(1000) ack 1
        +50ms write 100
        +0    > 1:101(100) ack 1001
        +0    timer 1s
        ",
    );
}
