//! A connection in the place of another endpoint: its owner can hold the peer's FIN, set timestamps of the
//! other's clock, and set the congestion window.

use std::convert::identity;

use lasthop_tcp::Connection;

use crate::{events, run_with};

#[test]
fn a_fin_that_is_held_is_not_acknowledged_until_it_is_accepted() {
    run_with("--open=established --config=reno", identity, |run| {
        run.change(|connection, _| connection.hold_fin());
        events(
            run,
            "
                +0     < F. 1:101(100) ack 1 win 65535
                +0     > . 1:1(0) ack 101
                +0     %{ assert tcpi_state == TCP_ESTABLISHED and peer_has_closed == 1 and received == 100 }%
                +1     < F. 101:101(0) ack 1 win 65535  // again: still held
                +0     > . 1:1(0) ack 101
                +0     write(3, ..., 500) = 500
                +0     > P. 1:501(500) ack 101
                +.01   < . 101:101(0) ack 501 win 65535
                ",
        );
        run.change(Connection::accept_fin);
        events(
            run,
            "
                +0     > . 501:501(0) ack 102
                +0     %{ assert tcpi_state == TCP_CLOSE_WAIT }%
                ",
        );
        run.change(Connection::accept_fin); // once is enough
        events(
            run,
            "
                +0     shutdown(3, SHUT_WR) = 0
                +0     > F. 501:501(0) ack 102
                ",
        );
    });
}

#[test]
fn a_held_fin_is_accepted_in_every_state_that_can_have_one() {
    run_with("--open=established --config=reno", identity, |run| {
        run.change(|connection, _| connection.hold_fin());
        events(
            run,
            "
                +0     shutdown(3, SHUT_WR) = 0
                +0     > F. 1:1(0) ack 1
                +.01   < F. 1:1(0) ack 2 win 65535
                +0     > . 2:2(0) ack 1
                +0     %{ assert tcpi_state == TCP_FIN_WAIT2 and peer_has_closed == 1 }%
                ",
        );
        run.change(Connection::accept_fin);
        events(
            run,
            "
                +0     > . 2:2(0) ack 2
                +0     %{ assert tcpi_state == TCP_TIME_WAIT }%
                ",
        );
    });
    run_with("--open=established --config=reno", identity, |run| {
        run.change(|connection, _| connection.hold_fin());
        events(
            run,
            "
                +0     shutdown(3, SHUT_WR) = 0
                +0     > F. 1:1(0) ack 1
                +.01   < F. 1:1(0) ack 1 win 65535
                +0     > . 2:2(0) ack 1
                ",
        );
        run.change(Connection::accept_fin);
        events(
            run,
            "
                +0     > . 2:2(0) ack 2
                +0     %{ assert tcpi_state == TCP_CLOSING }%
                ",
        );
    });
}

#[test]
fn no_fin_is_accepted_before_the_gap_below_it_is_filled() {
    run_with("--open=established --config=reno", identity, |run| {
        run.change(|connection, _| connection.hold_fin());
        events(
            run,
            "
                +0     < F. 101:201(100) ack 1 win 65535
                +0     > . 1:1(0) ack 1
                ",
        );
        run.change(Connection::accept_fin);
        events(
            run,
            "
                +0     %{ assert peer_has_closed == 0 }%
                +0     < . 1:101(100) ack 1 win 65535
                +0     > . 1:1(0) ack 201
                +0     %{ assert peer_has_closed == 1 }%
                ",
        );
        run.change(Connection::accept_fin);
        events(
            run,
            "
                +0     > . 1:1(0) ack 202
                ",
        );
    });
}

#[test]
fn timestamps_that_were_set_do_not_measure_round_trips() {
    run_with("--open=adopt --config=reno", identity, |run| {
        events(
            run,
            "
                0      > S 0:0(0) win 64240 <mss 1000,TS val 7000 ecr 0>
                +.01   < S. 0:0(0) ack 1 win 60000 <mss 900,TS val 500 ecr 7000>
                +0     > . 1:1(0) ack 1 <nop,nop,TS val 7010 ecr 500>
                ",
        );
        run.change(|connection, _| connection.set_timestamp(7003));
        events(
            run,
            "
                +0     write(3, ..., 500) = 500
                +0     > P. 1:501(500) ack 1 <nop,nop,TS val 7003 ecr 500>
                +.03   < . 1:1(0) ack 501 win 65535 <nop,nop,TS val 520 ecr 7003>
                +0     %{ assert tcpi_rtt == 12500 }%  // 10 ms, then the 30 ms that the segment itself was timed
                ",
        );
        run.change(|connection, _| connection.set_timestamp(7050));
        events(
            run,
            "
                +0     < . 1:101(100) ack 501 win 65535 <nop,nop,TS val 521 ecr 7003>
                +0     > . 501:501(0) ack 101 <nop,nop,TS val 7050 ecr 521>
                ",
        );
    });
}

#[test]
fn a_window_set_from_outside_is_unchanged_by_losses_and_time_outs() {
    run_with(
        r#"--open=established --config="rack congestion=External tail_loss_probe proportional_reduction f_rto undo""#,
        identity,
        |run| {
            run.change(|connection, _| connection.set_cwnd(4000));
            events(
                run,
                "
                +0     write(3, ..., 20000) = 20000
                +0     > . 1:4001(4000) ack 1
                +.01   < . 1:1(0) ack 1001 win 65535
                +0     > . 4001:5001(1000) ack 1
                +0     %{ assert cwnd == 4000 }%
                +.005  < . 1:1(0) ack 1001 win 65535 <nop,nop,sack 2001:5001>
                +0     > . 1001:2001(1000) ack 1
                +0     > . 5001:8001(3000) ack 1
                +0     %{ assert cwnd == 4000 }%
                ",
            );
            run.change(|connection, _| connection.set_cwnd(1)); // a segment at least
            events(
                run,
                "
                +0     %{ assert cwnd == 1000 }%
                ",
            );
        },
    );
}

#[test]
fn a_window_set_from_outside_allows_nothing_more_for_duplicate_acks() {
    // Without SACK: the two segments of limited transmit (RFC 3042) would exceed the window.
    run_with(
        r#"--open=established --config="rack congestion=External sack=false limited_transmit""#,
        identity,
        |run| {
            run.change(|connection, _| connection.set_cwnd(4000));
            events(
                run,
                "
                +0     write(3, ..., 20000) = 20000
                +0     > . 1:4001(4000) ack 1
                +.01   < . 1:1(0) ack 1 win 65535
                +0     %{ assert cwnd == 4000 and nxt == 4001 }%
                ",
            );
            for _ in 0..3 {
                run.change(|connection, _| connection.allow(0));
                events(run, "+0     %{ assert nxt == 4001 }%");
            }
        },
    );
}
