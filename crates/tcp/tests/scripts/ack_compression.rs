//! Fewer ACKs behind a gap: `__tcp_ack_snd_check` and `tcp_compressed_ack_kick` of Linux 6.18.

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config};

fn compressing(ack_policy: AckPolicy, timestamps: bool) -> Script {
    let config = Config { sack: true, ack_compression: true, ack_policy, timestamps, mss: 1012, ..config() };
    Script::established(config)
}

/// A round trip of 40 ms is known, and a gap that was reported three times.
const REPORTED: &str = "
        1s    < 1:1001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001
        +0    < 2001:3001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001
        +0    < 3001:4001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001
        +0    < 4001:5001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001
";

#[test]
fn after_three_reports_of_a_gap_one_ack_a_millisecond_is_enough() {
    compressing(AckPolicy::EverySegment, true).run(&format!(
        "{REPORTED}
        +0    < 5001:6001(1000) ack 1 <TS 1 961>
        +300us < 6001:7001(1000) ack 1 <TS 1 961>
        +300us < 7001:8001(1000) ack 1 <TS 1 961>
        +0    timer 500µs
        +500us > . ack 1001 <TS 1002 1, sack 2001:8001>
        +0    timer none
        "
    ));
}

#[test]
fn what_fills_the_gap_is_acknowledged_at_once() {
    compressing(AckPolicy::EverySegment, true).run(&format!(
        "{REPORTED}
        +0    < 6001:7001(1000) ack 1 <TS 1 961>
        +0    < 1001:1501(500) ack 1 <TS 1 961>     # a part of it
        +0    > . ack 1501
        +0    < 1501:2001(500) ack 1 <TS 1 961>     # another gap is next
        +0    > . ack 5001
        +0    < 7001:8001(1000) ack 1 <TS 1 961>
        +0    > . ack 5001
        +0    < 8001:9001(1000) ack 1 <TS 1 961>
        +0    > . ack 5001
        +0    < 9001:10001(1000) ack 1 <TS 1 961>
        +0    timer 1.1ms
        +0    < 5001:6001(1000) ack 1 <TS 1 961>
        +0    > . ack 10001 <TS 1001 1>
        +0    timer none
        "
    ));
}

#[test]
fn at_most_44_acks_become_one() {
    let held_back = (0..44u32).map(|at| 5001 + at * 1000).fold(String::new(), |script, from| {
        format!("{script}+10us < {from}:{}(1000) ack 1 <TS 1 961>\n", from + 1000)
    });
    compressing(AckPolicy::EverySegment, true).run(&format!(
        "{REPORTED}
        {held_back}
        +10us < 49001:50001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001 <TS 1001 1, sack 2001:50001>
        "
    ));
}

#[test]
fn without_a_round_trip_that_is_known_none_waits() {
    compressing(AckPolicy::EverySegment, false).run(
        "
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 1
        +0    < 3001:4001(1000) ack 1
        +0    > . ack 1
        +0    < 4001:5001(1000) ack 1
        +0    > . ack 1
        +0    < 5001:6001(1000) ack 1
        +0    > . ack 1
        ",
    );
}

#[test]
fn a_third_block_does_not_wait_behind_two_that_were_not_reported() {
    compressing(AckPolicy::EverySegment, true).run(&format!(
        "{REPORTED}
        +0    < 6001:7001(1000) ack 1 <TS 1 961>    # the second block
        +0    timer 1.1ms
        +0    < 8001:9001(1000) ack 1 <TS 1 961>
        +0    > . ack 1001 <TS 1001 1, sack 8001:9001, sack 6001:7001, sack 2001:5001>
        "
    ));
}

#[test]
fn quick_acks_go_before() {
    compressing(AckPolicy::Linux, true).run(&format!(
        "{REPORTED}
        +0    < 5001:6001(1000) ack 1 <TS 1 961>    # the fifth of sixteen
        +0    > . ack 1001
        "
    ));
}
