//! The receiver's SACK blocks.
//!
//! //= RFC 2018, section 4: the block with the latest arrival first, then the blocks reported
//! before.

use lasthop_tcp::Config;

use crate::script::{Script, config};

fn sack(timestamps: bool) -> Script {
    let config = Config { sack: true, timestamps, ..config() };
    Script::established(config)
}

#[test]
fn the_latest_block_comes_first_and_up_to_four_fit() {
    sack(false).run(
        "
        +0    < 1001:1501(500) ack 1
        +0    > . ack 1 <sack 1001:1501>
        +0    < 2001:2501(500) ack 1
        +0    > . ack 1 <sack 2001:2501, sack 1001:1501>
        +0    < 3001:3501(500) ack 1
        +0    > . ack 1 <sack 3001:3501, sack 2001:2501, sack 1001:1501>
        +0    < 4001:4501(500) ack 1
        +0    > . ack 1 <sack 4001:4501, sack 3001:3501, sack 2001:2501, sack 1001:1501>
        +0    < 5001:5501(500) ack 1
        +0    > . ack 1 <sack 5001:5501, sack 4001:4501, sack 3001:3501, sack 2001:2501>
        +0    < 1501:2001(500) ack 1
        +0    > . ack 1 <sack 1001:2501, sack 5001:5501, sack 4001:4501, sack 3001:3501>
        +0    < 1:1001(1000) ack 1
        +0    > . ack 2501 <sack 5001:5501, sack 4001:4501, sack 3001:3501>
        +0    < 2501:5001(2500) ack 1
        +0    > . ack 5501 <>
        ",
    );
}

#[test]
fn three_fit_beside_timestamps() {
    sack(true).run(
        "
        +0    < 1001:1501(500) ack 1 <TS 1 0>
        +0    > . ack 1
        +0    < 2001:2501(500) ack 1 <TS 1 0>
        +0    > . ack 1
        +0    < 3001:3501(500) ack 1 <TS 1 0>
        +0    > . ack 1
        +0    < 4001:4501(500) ack 1 <TS 1 0>
        +0    > . ack 1 <TS 1 0, sack 4001:4501, sack 3001:3501, sack 2001:2501>
        ",
    );
}

//= RFC 6691: options come out of the segment's payload.
#[test]
fn data_makes_room_for_the_blocks() {
    sack(false).run(
        "
        +0    < 1001:1501(500) ack 1
        +0    > . ack 1 <sack 1001:1501>
        +0    write 2000
        +0    > 1:989(988) ack 1 <sack 1001:1501>
        ",
    );
}

#[test]
fn without_agreement_there_are_none() {
    Script::established(config()).run(
        "
        +0    < 1001:1501(500) ack 1
        +0    > . ack 1 <>
        ",
    );
}
