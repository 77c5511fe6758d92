//! Back-off and Karn's rule.
//!
//! //= RFC 6298, section 3: "RTT samples MUST NOT be made using segments that were retransmitted".
//! //= RFC 6298, section 5.5: "The host MUST set RTO <- RTO * 2 ("back off the timer")".

use lasthop_tcp::Config;

use crate::script::{Script, config};

#[test]
fn the_back_off_stays_until_a_segment_sent_once_is_acknowledged() {
    Script::established(config()).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        1s    > 1:1001(1000)
        3s    > 1:1001(1000)
        +10ms < . ack 1001                 # of which one?
        +0    srtt none rto 4s
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    timer 4s
        +20ms < . ack 2001
        +0    srtt 20ms rto 1s
        +0    > 3001:4001(1000)
        ",
    );
}

#[test]
fn a_segment_that_is_new_in_part_only_is_not_timed() {
    Script::established(config()).run(
        "
        +0    write 500
        +0    > 1:501(500)
        +0    write 2000
        1s    > 1:1001(1000)
        +10ms < . ack 501                  # the first copy, which was late
        +0    srtt none
        +0    > 1001:2001(1000)
        +0    > 2001:2501(500)
        +10ms < . ack 1001
        +0    srtt none
        ",
    );
}

#[test]
fn a_fast_retransmission_stops_the_timing() {
    Script::established(Config { initial_window: 4, ..config() }).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 4001
        +0    srtt none
        ",
    );
}
