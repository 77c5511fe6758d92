//! `DynDelAck` (Altman and Jimenez 2003): an ACK for one segment, then for two, three, and from the
//! ninth segment on for four.

use std::time::Duration;

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config};

fn dynamic() -> Script {
    let ack_policy = AckPolicy::DynDelAck(Duration::from_millis(100));
    Script::established(Config { ack_policy, ..config() })
}

/// Segments 1 to 9: ACKs behind number 1, 3, 5 and 8; 9 is the first of four.
const NINE: &str = "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001
        +0    < 1001:2001(1000) ack 1
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 3001
        +0    < 3001:4001(1000) ack 1
        +0    < 4001:5001(1000) ack 1      # l2: three from here on
        +0    < 5001:6001(1000) ack 1
        +0    > . ack 6001
        +0    < 6001:7001(1000) ack 1
        +0    < 7001:8001(1000) ack 1
        +0    < 8001:9001(1000) ack 1      # l3: four from here on
";

#[test]
fn the_delay_coefficient_grows_with_the_number_of_the_segment() {
    dynamic().run(&format!(
        "{NINE}
        +0    < 9001:10001(1000) ack 1
        +0    > . ack 10001
        +0    < 10001:11001(1000) ack 1
        +0    < 11001:12001(1000) ack 1
        +0    < 12001:13001(1000) ack 1
        +0    < 13001:14001(1000) ack 1
        +0    > . ack 14001
        "
    ));
}

#[test]
fn the_timer_acknowledges_what_waits() {
    dynamic().run(&format!(
        "{NINE}
        +0    timer 100ms
        +100ms > . ack 9001
        +0    timer none
        +0    < 9001:10001(1000) ack 1
        +60ms < 10001:11001(1000) ack 1    # the timer runs since the first one
        +40ms > . ack 11001
        "
    ));
}

//= RFC 5681, section 4.2: out of order, and when a gap is filled, at once.
#[test]
fn out_of_order_at_once() {
    dynamic().run(&format!(
        "{NINE}
        +0    < 10001:11001(1000) ack 1
        +0    > . ack 9001
        +0    < 9001:10001(1000) ack 1
        +0    > . ack 11001
        "
    ));
}
