//! Segments leave in super-packets, and less than one may wait (`tcp_tso_should_defer` in Linux).

use lasthop_tcp::Config;

use crate::script::{ALONE, Script, rack};

/// Ten segments have left at 0; the path takes 100 ms, and cwnd hardly grows. A super-packet has
/// two segments.
fn ten(octets: u32, rest: &str) {
    let config = Config { segmentation_offload: true, initial_ssthresh: 2000, ..rack(ALONE) };
    Script::established(config).run(&format!("+0 write {octets}\n+0 >> 1:10001(10000)\n{rest}"));
}

#[test]
fn a_single_segment_waits_for_the_next_ack() {
    ten(
        30_000,
        "
        +100ms < . ack 1001
        +0    > 10001:11001(1000)
        +0    < . ack 2001
        +0    in_network 9000
        +0    < . ack 3001
        +0    >> 11001:13001(2000)
        +0    < . ack 4001
        +0    in_network 9000
        ",
    );
}

#[test]
fn it_leaves_if_nothing_left_in_the_last_millisecond() {
    ten(
        30_000,
        "
        +100ms < . ack 1001
        +0    > 10001:11001(1000)
        +2ms  < . ack 2001
        +0    > 11001:12001(1000)
        ",
    );
}

#[test]
fn the_last_segment_waits_for_nothing() {
    ten(
        12_000,
        "
        +100ms < . ack 1001
        +0    > 10001:11001(1000)
        +0    < . ack 2001
        +0    > 11001:12001(1000)
        ",
    );
}

#[test]
fn where_the_next_ack_is_far_away_nothing_waits() {
    ten(
        30_000,
        "
        +60ms < . ack 9001
        +0    >> 10001:18001(8000)
        +1ms  < . ack 10001    # what is outstanding now left a millisecond ago
        +0    >> 18001:21001(3000)
        ",
    );
}

#[test]
fn in_recovery_single_segments_leave() {
    ten(
        30_000,
        "
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:7001>
        +0    > 10001:11001(1000)
        ",
    );
}

#[test]
fn without_it_a_single_segment_leaves_at_once() {
    let config = Config { initial_ssthresh: 2000, ..rack(ALONE) };
    Script::established(config).run(
        "
        +0    write 30000
        +0    >> 1:10001(10000)
        +100ms < . ack 1001
        +0    > 10001:11001(1000)
        +0    < . ack 2001
        +0    > 11001:12001(1000)
        ",
    );
}
