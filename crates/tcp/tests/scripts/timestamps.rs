//! Timestamps and PAWS.
//!
//! //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then
//! SEG.TSval is copied to TS.Recent". //= RFC 7323, section 5.3: a segment with an older timestamp
//! is not acceptable.

use std::time::Duration;

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config};

fn timestamps(ack_policy: AckPolicy) -> Script {
    Script::established(Config { timestamps: true, ack_policy, ..config() })
}

#[test]
fn a_delayed_ack_echoes_the_first_segment_that_it_acknowledges() {
    timestamps(AckPolicy::Delayed(Duration::from_millis(200))).run(
        "
        +0    < 1:989(988) ack 1 <TS 100 0>
        +5ms  < 989:1977(988) ack 1 <TS 105 0>
        +0    > . ack 1977 <TS 6 100>
        +5ms  < 1977:2965(988) ack 1 <TS 110 0>
        +200ms > . ack 2965 <TS 211 110>
        ",
    );
}

#[test]
fn a_segment_beyond_a_gap_is_not_echoed_and_the_one_that_fills_it_is() {
    timestamps(AckPolicy::EverySegment).run(
        "
        +0    < 1:989(988) ack 1 <TS 100 0>
        +0    > . ack 989 <TS 1 100>
        +0    < 1977:2965(988) ack 1 <TS 110 0>
        +0    > . ack 989 <TS 1 100>
        +0    < 989:1977(988) ack 1 <TS 105 0>
        +0    > . ack 2965 <TS 1 105>
        ",
    );
}

#[test]
fn an_older_timestamp_is_answered_and_its_segment_dropped() {
    timestamps(AckPolicy::EverySegment).run(
        "
        +0    < 1:989(988) ack 1 <TS 4294967290 0>
        +0    > . ack 989 <TS 1 4294967290>
        +0    < 989:1977(988) ack 1 <TS 4294967289 0>
        +0    > . ack 989
        +0    received 988
        +0    < 989:1977(988) ack 1 <TS 5 0>       # later: it has wrapped
        +0    > . ack 1977 <TS 1 5>
        ",
    );
}

#[test]
fn a_segment_outside_the_window_teaches_no_timestamp() {
    timestamps(AckPolicy::EverySegment).run(
        "
        +0    < 1:989(988) ack 1 <TS 100 0>
        +0    > . ack 989
        +0    < 1:989(988) ack 1 <TS 900 0>
        +0    > . ack 989 <TS 1 100>
        ",
    );
}

//= RFC 7323, section 4.1: with timestamps, retransmitted segments give samples too.
#[test]
fn an_echo_measures_the_round_trip_even_of_a_retransmission() {
    timestamps(AckPolicy::EverySegment).run(
        "
        +0    write 3000
        +0    > 1:989(988) <TS 1 0>
        1s    > 1:989(988) <TS 1001 0>
        +0    rto 2s
        +40ms < . ack 989 <TS 7 1001>
        +0    srtt 40ms rto 1s
        +0    > 989:1977(988) <TS 1041 7>
        +0    > 1977:2965(988)
        +20ms < . ack 1977 <TS 8 5000>     # an echo of the future
        +0    srtt 40ms
        +0    > 2965:3001(36)
        ",
    );
}
