//! When the receiver acknowledges.
//!
//! //= RFC 5681, section 4.2: every second segment at least, within 500 ms; out of order and when a
//! gap is filled, at once.

use std::time::Duration;

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config};

const DELAYED: AckPolicy = AckPolicy::Delayed(Duration::from_millis(200));

fn delayed() -> Script {
    Script::established(Config { ack_policy: DELAYED, ..config() })
}

#[test]
fn every_segment_if_configured_so() {
    Script::established(config()).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 2001
        ",
    );
}

#[test]
fn every_second_segment_at_once_and_a_single_one_by_the_timer() {
    delayed().run(
        "
        +0    < 1:1001(1000) ack 1
        +0    timer 200ms
        +10ms < 1001:2001(1000) ack 1
        +0    > . ack 2001
        +0    timer none
        +0    < 2001:3001(1000) ack 1
        +200ms > . ack 3001
        +0    timer none
        ",
    );
}

#[test]
fn out_of_order_and_when_the_gap_is_filled_at_once() {
    delayed().run(
        "
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 1
        +0    < 3001:4001(1000) ack 1
        +0    > . ack 1
        +0    < 1:1001(1000) ack 1
        +0    > . ack 2001
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 4001
        +0    < 1:1001(1000) ack 1         # known already
        +0    > . ack 4001
        +0    < 4001:5001(1000) ack 1
        +0    timer 200ms received 5000
        ",
    );
}

#[test]
fn data_of_our_own_takes_the_ack_along() {
    delayed().run(
        "
        +0    < 1:1001(1000) ack 1
        +50ms write 100
        +0    > 1:101(100) ack 1001
        +0    timer 1s
        ",
    );
}

#[test]
fn every_segment_after_a_loss_and_later_every_second_one() {
    let ack_policy = AckPolicy::EverySegmentAfterLoss(Duration::from_millis(20));
    let config = Config { ack_policy, window: 1_000_000, ..config() };
    let in_order = |from: u32, to: u32, are_prompt: bool| -> String {
        let lines = (from..to).map(|segment| {
            let (left, right) = (1 + 10 * segment, 11 + 10 * segment);
            let is_acknowledged = are_prompt || (segment - from) % 2 == 1;
            let ack = if is_acknowledged { format!("+0 > . ack {right}\n") } else { String::new() };
            format!("+0 < {left}:{right}(10) ack 1\n{ack}")
        });
        lines.collect()
    };
    let script = [
        in_order(0, 16, true),
        in_order(16, 216, false),
        // A segment alone waits, and not for long.
        "+0 < 2161:2171(10) ack 1\n+20ms > . ack 2171\n".to_owned(),
        // One is lost, and comes again: the 16 behind it are acknowledged one by one.
        "+0 < 2181:2191(10) ack 1\n+0 > . ack 2171\n+0 < 2171:2181(10) ack 1\n+0 > . ack 2191\n".to_owned(),
        in_order(219, 235, true),
        in_order(235, 237, false),
    ];
    Script::established(config).run(&script.concat());
}
