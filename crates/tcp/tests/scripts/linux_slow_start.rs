//! Slow start as Linux has it: `HyStart` in CUBIC (`hystart_update`), and what follows a time-out.

use lasthop_tcp::{Config, Congestion, RackConfig, SlowStart};

use crate::script::{ALONE, Script, rack};

fn cubic() -> Config {
    Config {
        congestion: Congestion::CubicLinux,
        slow_start: SlowStart::Hystart,
        initial_ssthresh: 1 << 30,
        ..rack(ALONE)
    }
}

fn run(text: &str) {
    Script::established(cubic()).run(text);
}

// The kernel's test `cubic-hystart-delay-rtt-jumps-upward`: the ninth sample of a round that is an eighth above the least ends slow start
// with the window of that time.
#[test]
fn the_ninth_sample_of_a_round_that_took_longer_ends_slow_start() {
    run("
        +0    write 30000
        +0    >> 1:10001(10000)
        +200ms < . ack 10001
        +0    >> 10001:30001(20000)
        +0    cwnd 20000
        +240ms < . ack 12001
        +1ms  < . ack 14001
        +1ms  < . ack 16001
        +1ms  < . ack 18001
        +1ms  < . ack 20001
        +1ms  < . ack 22001
        +1ms  < . ack 24001
        +1ms  < . ack 26001
        +0    cwnd 36000 ssthresh 1073741824
        +1ms  < . ack 28001
        +0    cwnd 36000 ssthresh 36000
        +1ms  < . ack 30001
        +0    cwnd 36000 ssthresh 36000
        ");
}

// The kernel's test `cubic-hystart-delay-min-rtt-jumps-downward`: a sample that is the least by far makes no round long.
#[test]
fn a_round_trip_that_gets_shorter_does_not() {
    run("
        +0    write 28000
        +0    >> 1:10001(10000)
        +200ms < . ack 10001
        +0    >> 10001:28001(18000)
        +180ms write 2000
        +0    >> 28001:30001(2000)
        +20ms < . ack 12001
        +1ms  < . ack 14001
        +1ms  < . ack 16001
        +1ms  < . ack 18001
        +1ms  < . ack 20001
        +1ms  < . ack 22001
        +1ms  < . ack 24001
        +1ms  < . ack 26001
        +1ms  < . ack 28001
        +1ms  < . ack 30001
        +0    cwnd 40000 ssthresh 1073741824
        ");
}

// `hystart_update`: a round is a round below 16 segments, too; only what it shows is not looked at. Ten segments one by one, 100 ms after
// they left, and the twenty that follow them after 120.
#[test]
fn a_round_does_not_begin_where_the_window_reaches_sixteen_segments() {
    let mut text = vec![String::from("+0 write 60000\n+0 >> 1:10001(10000)\n")];
    for at in 0..10 {
        let (wait, ack, next) = (if at == 0 { 100 } else { 3 }, (at + 1) * 1000 + 1, 10_001 + at * 2000);
        text.push(format!("+{wait}ms < . ack {ack}\n+0 >> {next}:{}(2000)\n", next + 2000));
    }
    text.push("+0 cwnd 20000".into());
    for at in 0..9 {
        let (wait, ack, next) = (if at == 0 { 93 } else { 3 }, 12_001 + at * 2000, 30_001 + at * 4000);
        text.push(format!("+{wait}ms < . ack {ack}\n"));
        let len = [4000, 4000, 4000, 4000, 4000, 4000, 4000, 2000, 0][at as usize];
        if len > 0 {
            text.push(format!("+0 >> {next}:{}({len})\n", next + len));
        }
    }
    text.push("+0 ssthresh 36000 cwnd 36000".into());
    run(&text.join("\n"));
}

// The kernel's test `cubic-rto-ss-ca-cwnd-bump`: after a time-out slow start goes to seven tenths of the window, and then the window
// stays for fifteen ACKs and grows with the sixteenth.
#[test]
fn after_a_time_out_the_window_grows_to_ssthresh_and_then_slowly() {
    let config = rack(RackConfig { tail_loss_probe: false, ..RackConfig::ALL });
    let config = Config { congestion: Congestion::CubicLinux, slow_start: SlowStart::Hystart, ..config };
    let mut text = vec![String::from(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +1s   > 1:1001(1000)
        +100ms < . ack 1001
        +0    cwnd 2000 ssthresh 7000
        +0    write 200000
        +0    >> 1001:3001(2000)
        +100ms < . ack 2001
        +0    >> 3001:5001(2000)
        +0    < . ack 3001
        +0    >> 5001:7001(2000)
        +0    cwnd 4000
        +100ms < . ack 5001
        +0    >> 7001:11001(4000)
        +0    cwnd 6000
        +0    < . ack 6001
        +0    >> 11001:13001(2000)
        +0    cwnd 7000
        ",
    )];
    // Sixteen ACKs of one segment, seven a round trip: Reno would have a segment more after fourteen, and Linux looks with the next
    // ACK that comes 32 ms or more after the last look.
    for at in 0..16 {
        let (ack, next) = (7001 + at * 1000, 13_001 + at * 1000);
        let wait = if at % 7 == 1 { 98 } else { 2 };
        let leaves = if at == 15 { 2000 } else { 1000 };
        text.push(format!("+{wait}ms < . ack {ack}\n+0 >> {next}:{}({leaves})\n", next + leaves));
    }
    text.push("+0 cwnd 8000".into());
    Script::established(config).run(&text.join("\n"));
}

/// Linux's `tcp_enter_loss` tells the control of each time-out (`tcp_set_ca_state`), and CUBIC
/// forgets everything (`bictcp_reset`), the window of the last loss included: without one, the
/// window grows by a segment for twenty at least.
#[test]
fn a_time_out_in_recovery_reduces_nothing_again_but_cubic_forgets_its_plateau() {
    let config = Config { congestion: Congestion::CubicLinux, ..rack(ALONE) };
    Script::established(config).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +10ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    cwnd 7000 ssthresh 7000
        +1s   > 1:1001(1000)
        +0    timeouts 1 cwnd 1000 ssthresh 7000
        +10ms < . ack 10001
        +0    cwnd 7000
        +0    write 21000
        +0    >> 10001:17001(7000)
        +5ms  < . ack 17001
        +0    >> 17001:24001(7000)
        +5ms  < . ack 24001
        +0    >> 24001:31001(7000)
        +5ms  < . ack 31001
        +0    cwnd 8000
        ",
    );
}

#[test]
fn the_initial_window_is_no_larger_than_any_that_tcp_can_advertise() {
    Script::established(Config { initial_window: u32::MAX, ..cubic() }).run(
        "
        +0    cwnd 1073741824
        +0    write 2000
        +0    >> 1:2001(2000)
        +10ms < . ack 2001
        ",
    );
}
