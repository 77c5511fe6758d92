//! Window validation as Linux has it (`tcp_is_cwnd_limited`, `tcp_slow_start_after_idle_check`), after RFC 2861.

use std::time::Duration;

use lasthop_tcp::{Config, RtoConfig, RtoRule};

use crate::script::{ALONE, Script, rack};

fn validating() -> Config {
    let rto = RtoConfig {
        rule: RtoRule::Linux,
        minimum: Duration::from_millis(200),
        granularity: Duration::ZERO,
        ..RtoConfig::default()
    };
    Config { window_validation: true, rto, ..rack(ALONE) }
}

fn run(text: &str) {
    Script::established(validating()).run(text);
}

// The kernel's test `slow-start-app-limited`: what was in flight was the window.
#[test]
fn a_window_that_was_full_grows() {
    run("
        +0    write 10000
        +0    >> 1:10001(10000)
        +105ms < . ack 2001
        +0    cwnd 12000
        +5ms  < . ack 4001
        +0    cwnd 14000
        +5ms  < . ack 6001
        +0    cwnd 16000
        +5ms  < . ack 8001
        +0    cwnd 18000
        +5ms  < . ack 10001
        +0    cwnd 20000
        ");
}

// The kernel's test `slow-start-app-limited-9-packets-out`: in slow start the window grows to twice what was in flight.
#[test]
fn in_slow_start_a_window_grows_to_twice_what_was_in_flight() {
    run("
        +0    write 9000
        +0    >> 1:9001(9000)
        +105ms < . ack 2001
        +0    cwnd 12000
        +5ms  < . ack 4001
        +0    cwnd 14000
        +5ms  < . ack 6001
        +0    cwnd 16000
        +5ms  < . ack 8001
        +0    cwnd 18000
        +5ms  < . ack 9001
        +0    cwnd 18000
        ");
}

//= RFC 7661, section 4.5.3 (and `tcp_is_cwnd_limited`): in congestion avoidance only a window that is in use grows.
#[test]
fn in_congestion_avoidance_a_window_with_room_left_stays() {
    Script::established(Config { initial_ssthresh: 10_000, ..validating() }).run(
        "
        +0    write 9000
        +0    >> 1:9001(9000)
        +100ms < . ack 9001
        +0    cwnd 10000
        +0    write 10000
        +0    >> 9001:19001(10000)
        +100ms < . ack 19001
        +0    cwnd 11000
        ",
    );
}

// The kernel's test `slow-start-after-idle`: 36 segments are 18 after one RTO, and ten, the initial window, after two.
#[test]
fn a_pause_halves_the_window_for_each_rto_down_to_the_initial_window() {
    for (pause, left) in [("2s", 10), ("501ms", 10), ("500ms", 18), ("201ms", 18), ("200ms", 36)] {
        // The pause counts from when the last segment left, 100 ms before its ACK.
        run(&format!(
            "
            +0    write 26000
            +0    >> 1:10001(10000)
            +100ms < . ack 10001
            +0    >> 10001:26001(16000)
            +100ms < . ack 26001
            +0    cwnd 36000 rto 300ms
            +{pause} write 1000
            +0    > 26001:27001(1000)
            +0    cwnd {}
            ",
            left * 1000
        ));
    }
}

//= RFC 2861, section 3.2: "ssthresh = max (ssthresh, 3*cwnd/4)": what the path took once is not forgotten.
#[test]
fn a_pause_leaves_three_quarters_of_the_window_in_ssthresh() {
    Script::established(Config { initial_ssthresh: 4000, ..validating() }).run(
        "
        +0    write 9000
        +0    >> 1:9001(9000)
        +100ms < . ack 9001
        +0    cwnd 10000 ssthresh 4000
        +5s   write 1000
        +0    > 9001:10001(1000)
        +0    cwnd 10000 ssthresh 7500
        ",
    );
}

#[test]
fn without_it_a_pause_changes_nothing() {
    Script::established(Config { window_validation: false, ..validating() }).run(
        "
        +0    write 9000
        +0    >> 1:9001(9000)
        +100ms < . ack 9001
        +0    cwnd 19000
        +10s  write 20000
        +0    >> 9001:28001(19000)
        ",
    );
}
