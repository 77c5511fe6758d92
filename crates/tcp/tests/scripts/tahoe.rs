//! Tahoe's fast retransmit (Jacobson 1988; Fall and Floyd 1996, section 2).

use lasthop_tcp::{Config, Recovery};

use crate::script::{Script, config};

fn eight(rest: &str) {
    let config = Config { initial_window: 8, recovery: Recovery::Tahoe, ..config() };
    Script::established(config).run(&format!(
        "
        +0    write 30000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        {rest}"
    ));
}

#[test]
fn the_third_duplicate_begins_slow_start_at_the_lost_segment() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    cwnd 8000
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    cwnd 1000 ssthresh 4000 nxt 1001 max 8001 fast_retransmits 1 timer 1s
        +10ms < . ack 8001                 # it was the only one
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    cwnd 2000 retransmits 1 timeouts 0
        ",
    );
}

#[test]
fn further_duplicates_let_nothing_go() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    cwnd 1000 fast_retransmits 1
        ",
    );
}

#[test]
fn what_follows_the_loss_goes_again_whether_it_has_arrived_or_not() {
    eight(
        "
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 3001                 # 3001:4001 is lost too
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)            # the peer has it
        +0    cwnd 2000
        +10ms < . ack 8001
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +0    > 10001:11001(1000)
        +0    cwnd 3000 retransmits 3 timeouts 0
        +0    < . ack 8001                 # for the segment that was sent twice
        +0    cwnd 3000
        ",
    );
}

#[test]
fn duplicates_of_needless_retransmissions_begin_another_slow_start() {
    // Nothing remembers how far the sender had got.
    eight(
        "
        1s    > 1:1001(1000)
        +1ms  < . ack 8001                 # all the ACKs were late
        +0    > 8001:9001(1000)
        +0    > 9001:10001(1000)
        +1ms  < . ack 8001
        +0    < . ack 8001
        +0    < . ack 8001
        +0    > 8001:9001(1000)
        +0    cwnd 1000 ssthresh 2000 fast_retransmits 1
        ",
    );
}
