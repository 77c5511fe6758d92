//! Duplicates that are reported: D-SACK (RFC 2883). The examples are those of its section 4, and
//! what the kernel's script for packetdrill asserts (`tcp_dsack_mult`).

use lasthop_tcp::{AckPolicy, Config, Recovery};

use crate::script::{Script, config};

fn dsack() -> Script {
    Script::established(Config { sack: true, dsack: true, ..config() })
}

//= RFC 2883, section 4.1: a duplicate below the cumulative acknowledgment.
#[test]
fn a_segment_that_was_received_before_is_reported_once() {
    dsack().run(
        "
        +0    < 1:501(500) ack 1
        +0    > . ack 501 <>
        +0    < 501:1001(500) ack 1
        +0    > . ack 1001 <>
        +0    < 501:1001(500) ack 1
        +0    > . ack 1001 <sack 501:1001>
        +0    < 1001:1501(500) ack 1
        +0    > . ack 1501 <>
        ",
    );
}

//= RFC 2883, section 4.1: with a gap, the blocks behind it follow.
#[test]
fn blocks_behind_a_gap_follow_the_duplicate() {
    dsack().run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001
        +0    < 1501:2001(500) ack 1
        +0    > . ack 1001 <sack 1501:2001>
        +0    < 2001:2501(500) ack 1
        +0    > . ack 1001 <sack 1501:2501>
        +0    < 501:1001(500) ack 1
        +0    > . ack 1001 <sack 501:1001, sack 1501:2501>
        ",
    );
}

//= RFC 2883, section 4.2, rule 4: "then the second SACK block in that SACK option should specify that (possibly larger) block of data".
#[test]
fn a_duplicate_behind_a_gap_is_followed_by_the_block_that_holds_it() {
    dsack().run(
        "
        +0    < 1001:1501(500) ack 1
        +0    > . ack 1 <sack 1001:1501>
        +0    < 1501:2001(500) ack 1
        +0    > . ack 1 <sack 1001:2001>
        +0    < 3001:3501(500) ack 1
        +0    > . ack 1 <sack 3001:3501, sack 1001:2001>
        +0    < 1501:2001(500) ack 1
        +0    > . ack 1 <sack 1501:2001, sack 1001:2001, sack 3001:3501>
        ",
    );
}

//= RFC 2883, section 4.3: a segment of which a part is a duplicate.
#[test]
fn the_part_of_a_segment_that_is_a_duplicate_is_reported() {
    dsack().run(
        "
        +0    < 1:501(500) ack 1
        +0    > . ack 501
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 501 <sack 1001:2001>
        +0    < 1501:2501(1000) ack 1
        +0    > . ack 501 <sack 1501:2001, sack 1001:2501>
        +0    < 1:1001(1000) ack 1
        +0    > . ack 2501 <sack 1:501>
        ",
    );
}

/// Of several duplicates in one segment, the first is reported.
#[test]
fn one_run_of_duplicates_is_reported_for_a_segment() {
    dsack().run(
        "
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 1 <sack 1001:2001>
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 1 <sack 1001:3001>
        +0    < 4001:5001(1000) ack 1
        +0    > . ack 1 <sack 4001:5001, sack 1001:3001>
        +0    < 7001:8001(1000) ack 1
        +0    > . ack 1 <sack 7001:8001, sack 4001:5001, sack 1001:3001>
        +0    < 1:6001(6000) ack 1
        +0    > . ack 6001 <sack 1001:3001, sack 7001:8001>
        +0    < 6001:8001(2000) ack 1
        +0    > . ack 8001 <sack 7001:8001>
        +0    < 1:1001(1000) ack 1
        +0    > . ack 8001 <sack 1:1001>
        ",
    );
}

#[test]
fn a_duplicate_with_an_old_timestamp_is_reported_too_and_three_blocks_fit_beside_it() {
    Script::established(Config { sack: true, dsack: true, timestamps: true, ..config() }).run(
        "
        +0    < 1:501(500) ack 1 <TS 5 0>
        +0    > . ack 501 <TS 1 5>
        +0    < 1:501(500) ack 1 <TS 4 0>
        +0    > . ack 501 <TS 1 5, sack 1:501>
        +0    < 1001:1501(500) ack 1 <TS 6 0>
        +0    > . ack 501
        +0    < 2001:2501(500) ack 1 <TS 6 0>
        +0    > . ack 501
        +0    < 3001:3501(500) ack 1 <TS 6 0>
        +0    > . ack 501
        +0    < 1001:1501(500) ack 1 <TS 6 0>
        +0    > . ack 501 <TS 1 5, sack 1001:1501, sack 1001:1501, sack 3001:3501>
        ",
    );
}

#[test]
fn data_makes_room_for_the_report() {
    dsack().run(
        "
        +0    < 1:501(500) ack 1
        +0    > . ack 501
        +0    < 1:501(500) ack 1
        +0    > . ack 501 <sack 1:501>
        +0    write 2000
        +0    > 1:1001(1000) ack 501 <>
        ",
    );
}

#[test]
fn an_ack_that_waits_takes_the_report_of_a_duplicate_along() {
    let config = Config { sack: true, dsack: true, ack_policy: AckPolicy::Linux, ..config() };
    Script::established(config).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 <sack 1:1001>
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 2001 <>
        ",
    );
}

#[test]
fn without_agreement_nothing_is_reported() {
    Script::established(Config { dsack: true, ..config() }).run(
        "
        +0    < 1:501(500) ack 1
        +0    > . ack 501 <>
        +0    < 1:501(500) ack 1
        +0    > . ack 501 <>
        ",
    );
}

/// A sender that goes by reports learns nothing wrong from a duplicate's: neither of one below the
/// cumulative acknowledgment, nor of one in a block.
#[test]
fn a_sender_takes_a_duplicate_for_no_loss_and_no_second_arrival() {
    let config = Config { sack: true, recovery: Recovery::Sack, initial_window: 6, ..config() };
    Script::established(config).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +10ms < . ack 1001
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    < . ack 1001 <sack 1:1001>                          # below: a duplicate, not a loss
        +0    < . ack 1001 <sack 1:1001>
        +0    < . ack 1001 <sack 1:1001>
        +0    duplicates 0 cwnd 7000
        +0    < . ack 1001 <sack 2001:3001>
        +0    duplicates 1
        +0    < . ack 1001 <sack 2501:3001, sack 2001:3001>       # in a block: known already
        +0    < . ack 1001 <sack 2001:2501, sack 2001:3001>
        +0    duplicates 1 fast_retransmits 0 cwnd 7000
        +0    < . ack 1001 <sack 501:1501, sack 2001:3001>        # half below: nothing of it counts
        +0    duplicates 1 una 1001
        ",
    );
}
