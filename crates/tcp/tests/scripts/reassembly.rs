//! Data in any order.
//!
//! //= RFC 9293, section 3.10.7.4: segments are processed in sequence; "segments with higher
//! beginning sequence numbers SHOULD be held".

use crate::script::{Script, config};

#[test]
fn overlapping_pieces_become_one_stream() {
    Script::established(config()).run(
        "
        +0    < 501:1001(500) ack 1
        +0    > . ack 1
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 1
        +0    < 801:2201(1400) ack 1
        +0    > . ack 1
        +0    received 0
        +0    < 1:701(700) ack 1
        +0    > . ack 3001
        +0    received 3000
        +0    < 2501:3501(1000) ack 1      # half of it known
        +0    > . ack 3501
        +0    received 3500
        ",
    );
}
