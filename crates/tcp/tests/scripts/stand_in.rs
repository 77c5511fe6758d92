//! What an owner can have a connection do that stands in for another endpoint: keep the peer's FIN
//! unacknowledged, tell timestamps of the other's clock, and move a window that nothing else moves.

use lasthop_tcp::{Config, Congestion, RackConfig};

use crate::script::{Open, Script, config, rack};

#[test]
fn a_fin_that_is_held_is_not_acknowledged_until_it_is_accepted() {
    Script::established(config()).run(
        "
        +0    hold-fin
        +0    < F. 1:101(100) ack 1
        +0    > . 1:1 ack 101
        +0    state Established peer_has_closed true received 100
        +1s   < F. 101:101 ack 1           # again: still held
        +0    > . 1:1 ack 101
        +0    write 500
        +0    > 1:501(500) ack 101
        +10ms < . 101:101 ack 501
        +0    accept-fin
        +0    > . 501:501 ack 102
        +0    state CloseWait
        +0    accept-fin                   # once is enough
        +0    close
        +0    > F. 501:501 ack 102
        ",
    );
}

#[test]
fn a_held_fin_is_accepted_in_every_state_that_can_have_one() {
    Script::established(config()).run(
        "
        +0    hold-fin
        +0    close
        +0    > F. 1:1 ack 1
        +10ms < F. 1:1 ack 2
        +0    > . 2:2 ack 1
        +0    state FinWait2 peer_has_closed true
        +0    accept-fin
        +0    > . 2:2 ack 2
        +0    state TimeWait
        ",
    );
    Script::established(config()).run(
        "
        +0    hold-fin
        +0    close
        +0    > F. 1:1 ack 1
        +10ms < F. 1:1 ack 1
        +0    > . 2:2 ack 1
        +0    accept-fin
        +0    > . 2:2 ack 2
        +0    state Closing
        ",
    );
}

#[test]
fn no_fin_is_accepted_before_the_gap_ahead_of_it_is_filled() {
    Script::established(config()).run(
        "
        +0    hold-fin
        +0    < F. 101:201(100) ack 1
        +0    > . 1:1 ack 1
        +0    accept-fin
        +0    peer_has_closed false
        +0    < 1:101(100) ack 1
        +0    > . 1:1 ack 201
        +0    peer_has_closed true
        +0    accept-fin
        +0    > . 1:1 ack 202
        ",
    );
}

#[test]
fn timestamps_are_those_that_were_told_and_time_nothing() {
    Script::new(
        Open::Adopt("S 0:0 win 64240 <mss 1000, TS 7000 0>", "S. 0:0 ack 1 win 60000 <mss 900, TS 500 7000>"),
        config(),
    )
    .run(
        "
        +0    > . 1:1 ack 1 <TS 7010 500>
        +0    tell-timestamp 7003
        +0    write 500
        +0    > 1:501(500) ack 1 <TS 7003 500>
        +30ms < . ack 501 <TS 520 7003>
        +0    srtt 12.5ms                  # 10 ms, then the 30 ms that the segment itself was timed
        +0    tell-timestamp 7050
        +0    < 1:101(100) ack 501 <TS 521 7003>
        +0    > . 501:501 ack 101 <TS 7050 521>
        ",
    );
}

#[test]
fn a_window_set_from_outside_stays_as_it_is_through_losses_and_time_outs() {
    let config = Config { congestion: Congestion::Outside, ..rack(RackConfig::ALL) };
    Script::established(config).run(
        "
        +0    set-cwnd 4000
        +0    write 20000
        +0    >> 1:4001
        +10ms < . ack 1001 
        +0    >> 4001:5001
        +0    cwnd 4000
        +5ms  < . ack 1001 <sack 2001:5001>
        +0    > . 1001:2001(1000)
        +0    >> 5001:8001
        +0    cwnd 4000
        +0    set-cwnd 1                   # a segment at least
        +0    cwnd 1000
        ",
    );
}
