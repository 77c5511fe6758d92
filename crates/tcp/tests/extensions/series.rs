//! Scripts of many segments that follow a simple law.

use std::convert::identity;
use std::fmt::Write;

use crate::{events, run_with};

fn run(head: &str, text: &str) {
    run_with(head, identity, |run| events(run, text));
}

/// Segments that arrive, `len` octets each, so long after each other; the `are_prompt` first ones
/// and then every second one is acknowledged at once.
fn arriving(segments: std::ops::Range<u32>, len: u32, after: &str, are_prompt: u32) -> String {
    let mut text = String::new();
    for at in segments.clone() {
        let (from, to, nth) = (1 + len * at, 1 + len * (at + 1), at - segments.start);
        writeln!(text, "{after} < . {from}:{to}({len}) ack 1 win 65535").expect("a string takes it");
        if nth < are_prompt || (nth - are_prompt) % 2 == 1 {
            writeln!(text, "+0 > . 1:1(0) ack {to}").expect("a string takes it");
        }
    }
    text
}

//= RFC 5681, section 4.2: every second segment at least, within 500 ms; out of order and when a gap is filled, at once.
#[test]
fn every_segment_is_acknowledged_after_a_loss_and_later_every_second_one() {
    let script = [
        &arriving(0..216, 10, "+0", 16),
        // The ACK of a single segment is delayed.
        "+0 < . 2161:2171(10) ack 1 win 65535\n+.02 > . 1:1(0) ack 2171\n",
        // One is lost, and retransmitted: the 16 after it are acknowledged one by one.
        "+0 < . 2181:2191(10) ack 1 win 65535\n+0 > . 1:1(0) ack 2171\n",
        "+0 < . 2171:2181(10) ack 1 win 65535\n+0 > . 1:1(0) ack 2191\n",
        &arriving(219..237, 10, "+0", 16),
    ];
    let config = "reno window=1000000 ack_policy=EverySegmentAfterLoss:20ms";
    run(&format!("--open=established --config=\"{config}\""), &script.concat());
}

// `tcp_init_buffer_space`, `tcp_enter_quickack_mode` in Linux 6.18: one quick ACK for two segments of the window.
#[test]
fn linux_sends_at_most_sixteen_quick_acks() {
    for (window, quick) in [(3000, 1), (12_000, 6), (32_000, 16), (64_000, 16)] {
        let config = format!(
            "reno window={window} ack_policy=Linux rto_initial=1s rto_minimum=200ms rto_granularity=1ms"
        );
        let head = format!("--open=established --config=\"{config}\"");
        run(&head, &arriving(0..40, 1000, "+.001", quick));
    }
}

// 2^31 octets later, the end of the last reduction (RFC 3168, section 6.1.2) looks as if it lay ahead.
#[test]
fn a_mark_counts_however_long_ago_the_last_reduction_was() {
    const ROUND: u32 = 400 * 65_000;
    let mut text = String::new();
    let rounds = (1u32 << 31) / ROUND + 4;
    for round in 0..=rounds {
        let (from, to) = (1 + round * ROUND, 1 + (round + 1) * ROUND);
        let flags = if round == 0 || round == rounds { "E." } else { "." };
        let first = if round == 1 { "W." } else { "." };
        let echoes = if round == rounds { 2 } else { 1 };
        let second = from + 65_000;
        write!(
            text,
            "
            +0 write(3, ..., {ROUND}) = {ROUND}
            +0 > {first} {from}:{second}(65000) ack 1
            +0 > P. {second}:{to}({}) ack 1
            +.01 < {flags} 1:1(0) ack {to} win 65535
            +0 %{{ assert congestion_echoes == {echoes} }}%
            ",
            ROUND - 65_000
        )
        .expect("a string takes it");
    }
    let config = "reno mss=65000 initial_window=1000 ecn";
    run(&format!("--open=established --peer_window=1073741824 --config=\"{config}\""), &text);
}
