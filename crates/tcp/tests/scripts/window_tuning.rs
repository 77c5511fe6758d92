//! A receive buffer that grows: `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` and `tcp_grow_window` of
//! Linux 6.18.

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Open, Script, config};

fn tuned() -> Config {
    Config { window: 20_000, window_max: Some(60_000), ..config() }
}

/// Segments from octet `from` on, each acknowledged with its window.
fn segments(from: u32, windows: &[u32]) -> String {
    (from..).step_by(1000).zip(windows).fold(String::new(), |script, (from, window)| {
        let to = from + 1000;
        format!("{script}+0 < {from}:{to}(1000) ack 1\n+0 > . ack {to} win {window}\n")
    })
}

#[test]
fn the_window_opens_by_two_segments_with_each_up_to_a_buffer_that_grows_once_a_round_trip() {
    // Up to five quarters; of that, a segment that arrives takes room until it is read.
    let first = [22_000, 24_000, 24_000];
    let as_it_is = [24_000; 17];
    Script::established(tuned()).run(&format!(
        "{}{}
        +50ms < 20001:21001(1000) ack 1
        +0    > . ack 21001 win 24000
        # The first 21,000 octets, a window, took 50 ms: a round trip. They are 11,000 more than the
        # ten segments at first; twice as many, and as many again for the growth, are more than 60,000.
        {}",
        segments(1, &first),
        segments(3001, &as_it_is),
        segments(21_001, &[26_000, 28_000, 30_000]),
    ));
}

#[test]
fn a_window_is_offered_only_where_it_has_grown_to_and_scaled_for_the_largest() {
    Script::new(Open::Listen, Config { window: 20_000, window_max: Some(1 << 20), ..config() }).run(
        "
        +0    < S 0:0 win 1000 <mss 1000, wscale 0>
        +0    > S. 0:0 ack 1 win 20000 <mss 1000, wscale 5>
        +0    < . 1:1 ack 1 win 1000
        +0    < 1:1001(1000) ack 1 win 1000
        +0    > . ack 1001 win 687
        ",
    );
}

#[test]
fn without_scaling_it_grows_as_far_as_a_field_can_tell() {
    let window_max = Some(1 << 20);
    Script::new(Open::Listen, Config { window: 60_000, window_max, ..config() }).run(
        "
        +0    < S 0:0 win 1000 <mss 1000>
        +0    > S. 0:0 ack 1
        +0    < . 1:1 ack 1 win 1000
        +0    < 1:1001(1000) ack 1 win 1000
        +0    > . ack 1001 win 62000
        +0    < 1001:2001(1000) ack 1 win 1000
        +0    > . ack 2001 win 64000
        +0    < 2001:3001(1000) ack 1 win 1000
        +0    > . ack 3001 win 64535
        +0    < 3001:4001(1000) ack 1 win 1000
        +0    > . ack 4001 win 64535
        ",
    );
}

#[test]
fn a_gap_makes_room_for_what_arrives_behind_it_if_it_is_reported() {
    let gap = "
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 1 win 22000
        +0    < 2001:19001(17000) ack 1
        +0    > . ack 1 win 39000          # ten segments twice, and 19,000 behind the gap
    ";
    Script::established(Config { sack: true, ..tuned() }).run(gap);
    Script::established(tuned()).run(&gap.replace("22000", "20000").replace("39000", "20000"));
}

#[test]
fn what_is_not_read_takes_room() {
    Script::established(tuned()).run(
        "
        +0    stall
        +0    < 1:11001(11000) ack 1
        +0    > . ack 11001 win 14000
        +0    < 11001:25001(14000) ack 1
        +0    > . ack 25001 win 0
        +1s   read
        +0    > . ack 25001 win 20000
        ",
    );
}

#[test]
fn each_segment_that_opens_the_window_has_a_quick_ack_of_linux() {
    let config = Config { ack_policy: AckPolicy::Linux, window: 8000, window_max: Some(60_000), ..config() };
    Script::established(config).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 9000        # four quick ACKs, and this
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 2001 win 9000
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 3001
        +0    < 3001:4001(1000) ack 1
        +0    > . ack 4001
        +0    < 4001:5001(1000) ack 1
        +0    > . ack 5001
        +0    < 5001:6001(1000) ack 1
        +0    timer 40ms
        ",
    );
}
