//! Undo of a reduction whose loss was none: by D-SACK (RFC 2883, 3708), by timestamps (Eifel, RFC 3522, 4015).

use lasthop_tcp::{Config, RackConfig};

use crate::script::{ALONE, Script, rack};

fn undo() -> Config {
    rack(RackConfig { undo: true, ..ALONE })
}

/// Ten segments left at 0, three of them are reported after 100 ms, and the first goes again.
fn ten(config: Config, octets: u32, rest: &str) {
    Script::established(config).run(&format!(
        "
        +0    write {octets}
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 5000
        {rest}"
    ));
}

/// The same with timestamps: what left at 0 has 1.
fn ten_with_timestamps(octets: u32, rest: &str) {
    Script::established(Config { timestamps: true, mss: 1012, ..undo() }).run(&format!(
        "
        +0    write {octets}
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <TS 1 1, sack 1001:4001>
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 5000
        {rest}"
    ));
}

//= RFC 3708, section 3: all that was sent again is reported as received twice.
#[test]
fn a_duplicate_of_all_that_was_sent_again_undoes_the_reduction_in_recovery() {
    ten(
        undo(),
        10_000,
        "
        +20ms < . ack 4001
        +0    undone 0 cwnd 5000
        +80ms < . ack 4001 <sack 1:1001>
        +0    undone 1 cwnd 10000 ssthresh 65535 lost 0 again 0
        ",
    );
}

//= RFC 3708, section 3: also after the recovery is over.
#[test]
fn a_duplicate_that_comes_after_recovery_undoes_it_too() {
    ten(
        undo(),
        10_000,
        "
        +20ms < . ack 10001
        +0    undone 0 ssthresh 5000
        +80ms < . ack 10001 <sack 1:1001>
        +0    undone 1 cwnd 10000 ssthresh 65535
        +0    < . ack 10001 <sack 1:1001>
        +0    undone 1
        ",
    );
}

//= RFC 3708, section 3: also after a time-out.
#[test]
fn duplicates_after_a_time_out_undo_it() {
    Script::established(undo()).run(
        "
        +0    write 3000
        +0    >> 1:3001(3000)
        +1s   > 1:1001(1000)
        +0    timeouts 1 cwnd 1000 ssthresh 5000
        +10ms < . ack 1001
        +0    >> 1001:3001(2000)
        +10ms < . ack 3001
        +80ms < . ack 3001 <sack 1:1001>
        +0    < . ack 3001 <sack 1001:2001>
        +0    undone 0 ssthresh 5000
        +0    < . ack 3001 <sack 2001:3001>
        +0    undone 1 cwnd 10000 ssthresh 65535
        ",
    );
}

//= RFC 3708, section 3: not if a segment that was sent again is not reported: it had been lost.
#[test]
fn with_a_real_loss_among_them_the_reduction_stays() {
    Script::established(undo()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 2001:10001>
        +0    >> 1:2001(2000)
        +10ms < . ack 1001 <sack 2001:10001>    # the original of the first
        +90ms < . ack 10001 <sack 1:1001>       # the retransmissions of both
        +100ms undone 0 ssthresh 5000
        ",
    );
}

// The network may double segments itself: that one was sent once shows that the D-SACK is not for a retransmission.
#[test]
fn a_duplicate_that_the_network_made_undoes_nothing() {
    ten(
        undo(),
        10_000,
        "
        +10ms < . ack 1 <sack 2001:3001, sack 1001:4001>
        +0    undone 0 cwnd 5000 ssthresh 5000
        +90ms < . ack 10001
        +0    undone 0 ssthresh 5000
        ",
    );
}

// As in Linux, a probe that is under way when recovery begins counts: its D-SACK says nothing of the retransmissions.
#[test]
fn a_duplicate_of_a_probe_does_not_undo_the_recovery_that_began_since() {
    Script::established(rack(RackConfig { undo: true, tail_loss_probe: true, ..ALONE })).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    write 9000
        +0    >> 1001:10001(9000)
        +202ms > 9001:10001(1000)
        +10ms < . ack 1001 <sack 2001:10001>                   # the originals, late, but for the first
        +0    > 1001:2001(1000)
        +0    fast_retransmits 1 ssthresh 5000
        +90ms < . ack 1001 <sack 9001:10001, sack 2001:10001>  # the probe
        +0    undone 0 lost 1000 cwnd 5000
        +10ms < . ack 10001
        +0    undone 0 ssthresh 5000
        ",
    );
}

//= RFC 3522, section 3.2, step 5, and RFC 4015, section 3.2: the first partial ACK echoes a timestamp from before the retransmission.
#[test]
fn an_ack_that_echoes_the_original_undoes_the_reduction() {
    ten_with_timestamps(
        20_000,
        "
        +20ms < . ack 4001 <TS 2 1>
        +0    undone 1 ssthresh 65535 lost 0 again 0
        +0    >> 10001:15001(5000)             # one for each octet acknowledged, as in slow start: 11 of them
        +0    cwnd 11000 in_network 11000
        ",
    );
}

//= RFC 3522, section 3.2: one that echoes the retransmission, or a later segment, does not.
#[test]
fn an_ack_that_echoes_the_retransmission_undoes_nothing() {
    ten_with_timestamps(
        10_000,
        "
        +10ms < . ack 1 <TS 2 1, sack 1001:9001>
        +90ms < . ack 9001 <TS 2 101>          # the last was overtaken by the retransmission
        +0    > 9001:10001(1000)
        +100ms < . ack 10001 <TS 3 201>
        +0    undone 0 ssthresh 5000
        ",
    );
}

// As in Linux: while a retransmission is under way, it is waited for, and nothing more is found lost.
#[test]
fn retransmissions_under_way_are_waited_for_first() {
    Script::established(Config { timestamps: true, mss: 1012, ..undo() }).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <TS 1 1, sack 2001:8001>
        +0    >> 1:2001(2000)
        +20ms < . ack 1001 <TS 1 1, sack 2001:8001>
        +0    undone 0 again 1000
        +10ms < . ack 8001 <TS 2 1>
        +0    undone 1 ssthresh 65535
        ",
    );
}

// As in Linux (`retrans_stamp`): the first retransmission is that of all recoveries that pass into each other.
fn recovery_into_recovery(rest: &str) {
    ten_with_timestamps(
        17_000,
        &format!(
            "
        +10ms < . ack 1 <TS 2 1, sack 1001:9001>        # 9001:10001 is lost, too
        +0    >> 10001:13001(3000)
        +90ms < . ack 9001 <TS 3 101>
        +0    > 9001:10001(1000)
        +0    > 13001:14001(1000)
        +10ms < . ack 9001 <TS 4 101, sack 10001:13001>
        +0    >> 14001:17001(3000)
        +90ms < . ack 9001 <TS 4 101, sack 14001:17001, sack 10001:13001>
        +0    > 9001:10001(1000)                       # it was lost again
        +0    > 13001:14001(1000)
        +100ms < . ack 13001 <TS 4 301, sack 14001:17001>
        +0    undone 0 fast_retransmits 2
        {rest}"
        ),
    );
}

#[test]
fn an_ack_older_than_a_recovery_but_not_than_the_one_it_follows_undoes_nothing() {
    recovery_into_recovery(
        "
        +0    < . ack 17001 <TS 5 150>
        +0    undone 0
        ",
    );
}

#[test]
fn an_ack_older_than_both_undoes_the_second_of_two_recoveries() {
    recovery_into_recovery(
        "
        +0    < . ack 17001 <TS 5 100>
        +0    undone 1
        ",
    );
}

//= RFC 4015, section 3.2: after a time-out, too.
#[test]
fn an_ack_that_echoes_the_original_undoes_a_time_out() {
    Script::established(Config { timestamps: true, mss: 1012, ..undo() }).run(
        "
        +0    write 3000
        +0    >> 1:3001(3000)
        +1s   > 1:1001(1000)
        +0    ssthresh 5000 lost 3000
        +20ms < . ack 1001 <TS 1 1>
        +0    undone 1 lost 0 ssthresh 65535 cwnd 11000 in_network 2000
        ",
    );
}

// As in Linux (`tcp_try_undo_partial`): it shows that the path reorders, so that three segments reported mean no loss any more.
#[test]
fn what_was_only_late_counts_as_reordering() {
    ten_with_timestamps(
        18_000,
        "
        +20ms < . ack 4001 <TS 2 1, sack 5001:6001>
        +0    undone 1
        +0    >> 10001:17001(7000)
        +0    sacked 1000
        +1ms  < . ack 4001 <TS 2 1, sack 5001:9001>
        +0    > 17001:18001(1000)
        +0    lost 0 fast_retransmits 1
        ",
    );
}

#[test]
fn without_it_nothing_is_undone() {
    ten(
        rack(ALONE),
        10_000,
        "
        +20ms < . ack 4001
        +80ms < . ack 4001 <sack 1:1001>
        +100ms < . ack 10001
        +0    undone 0 ssthresh 5000
        ",
    );
}

// As in Linux: a tail loss probe does not set `retrans_stamp` (`tcp_send_loss_probe` calls `__tcp_retransmit_skb`).
#[test]
fn an_ack_of_a_probe_from_before_a_time_out_undoes_the_time_out() {
    let config = rack(RackConfig { undo: true, tail_loss_probe: true, ..ALONE });
    Script::established(Config { timestamps: true, mss: 1012, ..config }).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001 <TS 1 1>
        +0    write 1000
        +0    > 1001:2001(1000)
        +400ms > 1001:2001(1000)               # the probe
        +1s   > 1001:2001(1000)               # the time-out
        +0    timeouts 1
        +10ms < . ack 2001 <TS 2 501>          # the echo of the probe: the time-out came too early
        +0    undone 1
        ",
    );
}

/// The receiver does not report what it has.
fn without_sack() -> Config {
    Config { timestamps: true, mss: 1012, sack: false, dsack: false, ..undo() }
}

/// Four segments left at 0, and the first again at 1 s and at 3 s.
fn four_without_sack(rest: &str) {
    Script::established(without_sack()).run(&format!(
        "
        +0    write 4000
        +0    >> 1:4001(4000)
        +1s   > 1:1001(1000)
        +2s   > 1:1001(1000)
        +0    timeouts 2 cwnd 1000
        {rest}"
    ));
}

//= RFC 3522, section 3.2, step 5; RFC 4015, section 3.2: as in Linux, also where the peers did not agree on SACK.
#[test]
fn without_sack_an_ack_that_echoes_the_original_undoes_a_time_out_and_new_data_follows() {
    four_without_sack(
        "
        +0    < . ack 1001 <TS 2 1>
        +0    undone 1 ssthresh 65535
        +0    write 2000
        +0    >> 4001:6001(2000)
        ",
    );
}

/// A copy leaves at the time-out, between two ticks of the clock of timestamps.
#[test]
fn without_sack_a_time_out_between_two_ticks_is_not_undone_by_an_echo_of_its_copy() {
    Script::established(without_sack()).run(
        "
        +400us write 4000
        +0    >> 1:4001(4000)
        +1s   > 1:1001(1000)
        +10ms < . ack 1001 <TS 2 1001>
        +0    undone 0
        +0    >> 1001:3001(2000)
        ",
    );
}

/// The first ACK of new data decides (RFC 3522, section 3.2); the next time-out is judged by itself.
#[test]
fn without_sack_a_time_out_is_undone_though_one_before_was_needed() {
    four_without_sack(
        "
        +0    < . ack 1001 <TS 2 1001>
        +0    undone 0
        +0    >> 1001:3001(2000)
        +6s   > 1001:2001(1000)
        +0    < . ack 2001 <TS 2 3001>
        +0    undone 1
        ",
    );
}

#[test]
fn without_sack_an_ack_without_a_timestamp_undoes_nothing() {
    Script::established(without_sack()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms < . ack 1001 <TS 2 1>
        +0    write 2000
        +0    >> 1001:3001(2000)
        +1s   > 1001:2001(1000)
        +10ms < . ack 2001
        +0    undone 0
        +0    > 2001:3001(1000)
        ",
    );
}

#[test]
fn without_sack_an_ack_that_echoes_the_copy_undoes_nothing() {
    four_without_sack(
        "
        +0    < . ack 1001 <TS 2 1001>
        +0    undone 0
        +0    >> 1001:3001(2000)
        ",
    );
}

#[test]
fn a_recovery_since_the_time_out_is_not_undone_with_it() {
    four_without_sack(
        "
        +0    < . ack 1001 <TS 2 1001>
        +0    >> 1001:3001(2000)
        +0    < . ack 1001 <TS 2 1001>
        +0    < . ack 1001 <TS 2 1001>
        +0    < . ack 1001 <TS 2 1001>
        +0    > 1001:2001(1000)
        +0    < . ack 4001 <TS 2 1>
        +0    undone 0
        ",
    );
}
