//! When Linux acknowledges: `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`
//! and `tcp_cleanup_rbuf` of Linux 6.18. What the kernel's own scripts for packetdrill assert of it
//! (`tcp_rcv_toobig`, `tcp_ooo-before-and-after-accept`) is here, too.

use lasthop_tcp::{AckPolicy, Config};

use crate::script::{Script, config, rto};

/// A window of eight segments: four quick ACKs.
fn linux() -> Script {
    Script::established(linux_config())
}

fn linux_config() -> Config {
    Config { ack_policy: AckPolicy::Linux, window: 8000, rto: rto(1000, 200, 1), ..config() }
}

/// The four quick ACKs, 1 ms apart.
const QUICK: &str = "
        +1ms  < 1:1001(1000) ack 1
        +0    > . ack 1001
        +1ms  < 1001:2001(1000) ack 1
        +0    > . ack 2001
        +1ms  < 2001:3001(1000) ack 1
        +0    > . ack 3001
        +1ms  < 3001:4001(1000) ack 1
        +0    > . ack 4001
";

#[test]
fn as_many_quick_acks_as_pairs_of_segments_fit_into_the_window_and_then_one_for_two() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 4001:5001(1000) ack 1
        +1ms  < 5001:6001(1000) ack 1
        +0    > . ack 6001
        +1ms  < 6001:7001(1000) ack 1
        +1ms  < 7001:8001(1000) ack 1
        +0    > . ack 8001
        +0    timer none
        "
    ));
}

#[test]
fn sixteen_quick_acks_at_most() {
    for (window, quick) in [(3000, 1), (12_000, 6), (32_000, 16), (64_000, 16)] {
        let script = (0..40).fold(String::new(), |script, number| {
            let (from, to) = (number * 1000 + 1, number * 1000 + 1001);
            let is_due = number < quick || (number - quick) % 2 == 1;
            let ack = if is_due { format!("+0 > . ack {to}\n") } else { String::new() };
            format!("{script}+1ms < {from}:{to}(1000) ack 1\n{ack}")
        });
        Script::established(Config { window, ..linux_config() }).run(&script);
    }
}

#[test]
fn a_single_segment_waits_for_40_ms() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 4001:5001(1000) ack 1
        +0    timer 40ms
        +40ms > . ack 5001
        +0    timer none
        "
    ));
}

#[test]
fn the_timer_goes_by_the_time_between_segments_and_a_missed_one_doubles_it() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 4001:5001(1000) ack 1
        +40ms > . ack 5001                 # it expires: 80 ms from now on
        +30ms < 5001:6001(1000) ack 1      # half of that and the 70 ms since the last segment: 110 ms
        +0    timer 110ms
        +79ms < 6001:7001(1000) ack 1      # half of that and 79 ms; more than a segment is here
        +0    > . ack 7001
        +10ms < 7001:8001(1000) ack 1      # half of that and 20 ms, the least
        +0    timer 87ms
        +1ms  < 8001:9001(1000) ack 1
        +0    > . ack 9001
        "
    ));
}

#[test]
fn the_timer_stays_below_the_smallest_rto_and_200_ms() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 4001:5001(1000) ack 1
        +40ms > . ack 5001
        +1ms  < 5001:6001(1000) ack 1      # 40 + 41
        +81ms > . ack 6001                 # 162
        +1ms  < 6001:7001(1000) ack 1      # 81 + 82
        +163ms > . ack 7001                # 326
        +1ms  < 7001:8001(1000) ack 1
        +0    timer 199ms
        +199ms > . ack 8001
        "
    ));
}

#[test]
fn the_end_of_a_message_is_acknowledged_when_it_is_read() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < P. 4001:5001(1000) ack 1   # a full segment that is pushed
        +0    > . ack 5001
        +1ms  < 5001:5101(100) ack 1       # a short one
        +0    > . ack 5101
        +0    stall
        +1ms  < P. 5101:5201(100) ack 1
        +1ms  read
        +0    > . ack 5201
        "
    ));
}

#[test]
fn who_answers_lets_the_answer_take_the_ack_along() {
    linux().run(
        "
        +0    < P. 1:101(100) ack 1
        +0    > . ack 101
        +0    write 100
        +0    > 1:101(100) ack 101         # soon after data: a conversation
        +50ms < P. 101:201(100) ack 101    # no quick ACK, and none when it is read
        +10ms write 100
        +0    > 101:201(100) ack 201
        +50ms < P. 201:301(100) ack 201
        +0    timer 40ms
        +40ms > . ack 301                  # no answer: it is none
        +50ms < P. 301:401(100) ack 201
        +0    > . ack 401
        ",
    );
}

#[test]
fn after_a_time_without_data_acks_are_quick_again() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 4001:5001(1000) ack 1
        +1ms  < 5001:6001(1000) ack 1
        +0    > . ack 6001
        +999ms < 6001:7001(1000) ack 1     # not longer than our RTO
        +40ms > . ack 7001
        +1s   < 7001:8001(1000) ack 1
        +0    > . ack 8001
        +1ms  < 8001:9001(1000) ack 1
        +0    > . ack 9001
        "
    ));
}

#[test]
fn what_was_received_before_is_answered_at_once_and_makes_acks_quick() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 3001:4001(1000) ack 1
        +0    > . ack 4001                 # one of four
        +1ms  < 4001:5001(1000) ack 1
        +0    > . ack 5001
        +1ms  < 5001:6001(1000) ack 1
        +0    > . ack 6001
        +1ms  < 6001:7001(1000) ack 1
        +0    > . ack 7001
        +1ms  < 7001:8001(1000) ack 1
        +0    timer 40ms
        +40ms > . ack 8001
        "
    ));
}

//= RFC 5681, section 4.2: "A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-
//= order segment arrives", and "when the incoming segment fills in all or part of a gap".
#[test]
fn behind_a_gap_and_when_it_is_filled_in_part_or_whole_at_once() {
    linux().run(&format!(
        "{QUICK}
        +1ms  < 5001:6001(1000) ack 1
        +0    > . ack 4001
        +1ms  < 7001:8001(1000) ack 1
        +0    > . ack 4001
        +1ms  < 4001:5001(1000) ack 1
        +0    > . ack 6001
        +1ms  < 6001:7001(1000) ack 1
        +0    > . ack 8001
        "
    ));
}

#[test]
fn while_the_application_does_not_read_acks_that_would_shrink_the_window_wait() {
    linux().run(
        "
        +0    stall
        +0    < 1:6001(6000) ack 1         # more than half of the buffer: no quick ACKs either
        +40ms > . ack 6001 win 2000
        +1ms  < 6001:8001(2000) ack 1
        +1ms  read
        +0    > . ack 8001 win 8000
        ",
    );
}

#[test]
fn reading_is_worth_an_ack_if_the_window_is_twice_what_is_left() {
    let window = 20_000;
    Script::established(Config { window, ..linux_config() }).run(
        "
        +0    stall
        +0    < 1:10001(10000) ack 1
        +0    > . ack 10001 win 10000
        +0    < 10001:11001(1000) ack 1
        +40ms > . ack 11001 win 9000
        +0    read
        +0    > . ack 11001 win 20000
        +0    stall
        +0    < 11001:17001(6000) ack 1
        +80ms > . ack 17001 win 14000
        +0    read                         # 20,000 are free: less than twice 14,000
        ",
    );
}
