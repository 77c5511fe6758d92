//! Explicit congestion notification (RFC 3168).

use lasthop_tcp::{Config, Recovery};

use crate::script::{Open, Script, config};

fn ecn() -> Config {
    Config { ecn: true, initial_window: 4, ..config() }
}

//= RFC 3168, section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
#[test]
fn a_syn_offers_ecn_and_an_answer_with_ece_alone_accepts_it() {
    Script::new(Open::Connect, ecn()).run(
        "
        +0    > SEW 0:0(0) not-ect
        +10ms < SE. 0:0(0) ack 1 <mss 1000>
        +0    > . 1:1(0) not-ect
        +0    write 1000
        +0    > . 1:1001(1000) ect0
        ",
    );
}

#[test]
fn an_answer_without_ece_or_with_cwr_too_is_none() {
    for answer in ["S.", "SEW."] {
        Script::new(Open::Connect, ecn()).run(&format!(
            "
            +0    > SEW 0:0(0)
            +10ms < {answer} 0:0(0) ack 1 <mss 1000>
            +0    > . 1:1(0)
            +0    write 1000
            +0    > . 1:1001(1000) not-ect
            "
        ));
    }
}

#[test]
fn an_offer_is_accepted_with_ece_alone() {
    Script::new(Open::Listen, ecn()).run(
        "
        +0    < SEW 0:0(0) <mss 1000>
        +0    > SE. 0:0(0) ack 1 not-ect
        +10ms < . 1:1(0) ack 1
        +0    write 1000
        +0    > . 1:1001(1000) ect0
        ",
    );
}

//= RFC 3168, section 6.1.1.1: a host that gets no answer to an ECN-setup SYN sends one without ECE and CWR.
#[test]
fn a_syn_that_is_not_answered_goes_again_without_ecn() {
    Script::new(Open::Connect, ecn()).run(
        "
        +0    > SEW 0:0(0)
        +1s   > S 0:0(0)
        ",
    );
}

//= RFC 3168, section 6.1.3: the receiver sets ECE in ACKs until it gets CWR.
#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_has_reduced_its_window() {
    Script::established(ecn()).run(
        "
        +0    < . 1:1001(1000) ect0
        +0    > . 1:1(0) ack 1001
        +0    < . 1001:2001(1000) ce
        +0    > E. 1:1(0) ack 2001
        +0    < . 2001:3001(1000) ect0
        +0    > E. 1:1(0) ack 3001
        +0    < W. 3001:4001(1000) ect0
        +0    > . 1:1(0) ack 4001
        +0    < W. 4001:5001(1000) ce      # a mark on that very segment is echoed again
        +0    > E. 1:1(0) ack 5001
        ",
    );
}

//= RFC 3168, section 6.1.2: an ECE halves the window as a loss does, once a window of data, and CWR tells it with the next new segment.
#[test]
fn an_echo_reduces_the_window_once_and_the_next_new_segment_says_so() {
    Script::established(ecn()).run(
        "
        +0    write 20000
        +0    > 1:1001(1000) ect0
        +0    > 1001:2001(1000) ect0
        +0    > 2001:3001(1000) ect0
        +0    > 3001:4001(1000) ect0
        +10ms < E. ack 1001
        +0    cwnd 2000 ssthresh 2000 echoes 1 retransmits 0
        +0    < E. ack 2001
        +0    < E. ack 3001
        +0    > W. 4001:5001(1000) ect0
        +0    cwnd 2000 echoes 1
        +0    < . ack 4001                # an ACK without ECE: the window grows
        +0    > . 5001:6001(1000) ect0
        +0    > . 6001:7001(1000) ect0
        +0    echoes 1
        ",
    );
}

//= RFC 3168, section 6.1.5: no retransmission is ECN-capable.
#[test]
fn retransmissions_and_window_probes_are_not_to_be_marked() {
    Script::established(ecn()).run(
        "
        +0    write 1000
        +0    > 1:1001(1000) ect0
        +1s   > 1:1001(1000) not-ect
        +0    < . ack 1001 win 0
        +0    write 1000
        +2s   > 1001:1002(1) not-ect
        ",
    );
}

#[test]
fn with_proportional_reduction_the_window_shrinks_over_a_round_trip() {
    let recovery = Recovery::Rack(lasthop_tcp::RackConfig::ALL);
    Script::established(Config { recovery, sack: true, initial_window: 8, ..ecn() }).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +10ms < E. ack 1001
        +0    > W. 8001:9001(1000) ect0   # the first segment always leaves
        +0    ssthresh 4000 echoes 1
        +0    < E. ack 2001
        +0    < E. ack 3001
        +0    > 9001:10001(1000)           # then one for two
        +0    < E. ack 4001
        +0    < E. ack 5001
        +0    > 10001:11001(1000)
        +0    < E. ack 6001
        +0    retransmits 0 undone 0
        ",
    );
}

//= RFC 9937, section 6: RecoverFS is what was in the network before this ACK, whatever the one before it has delivered.
#[test]
fn what_an_earlier_ack_delivered_has_no_part_in_the_reduction() {
    let recovery = Recovery::Rack(lasthop_tcp::RackConfig::ALL);
    Script::established(Config { recovery, sack: true, initial_window: 8, ..ecn() }).run(
        "
        +0    write 40000
        +0    >> 1:8001(8000)
        +10ms < . ack 4001
        +0    >> 8001:13001(5000)          # Reno counts ACKs: nine segments
        +0    cwnd 9000
        +10ms < E. ack 5001
        +0    > W. 13001:14001(1000)
        +0    ssthresh 4000
        +0    < E. ack 6001
        +0    < E. ack 7001
        +0    > 14001:15001(1000)          # 3 of 9 segments, times 4: more than one
        +0    < E. ack 8001
        +0    < E. ack 9001
        +0    > 15001:16001(1000)          # 5 of 9 segments, times 4: more than two
        ",
    );
}

// 2^31 octets later, the end of the last reduction looks as if it lay ahead.
#[test]
fn a_mark_counts_however_long_ago_the_last_reduction_was() {
    const ROUND: u32 = 400 * 65_000;
    let mut text = Vec::new();
    let rounds = (1u32 << 31) / ROUND + 4;
    for round in 0..=rounds {
        let (from, to) = (1 + round * ROUND, 1 + (round + 1) * ROUND);
        let flags = if round == 0 || round == rounds { "E." } else { "." };
        let first = if round == 1 { "W." } else { "." };
        let echoes = if round == rounds { 2 } else { 1 };
        text.push(format!(
            "
            +0    write {ROUND}
            +0    > {first} {from}:{}(65000)
            +0    >> {}:{to}({})
            +10ms < {flags} ack {to} win 65535
            +0    echoes {echoes}
            ",
            from + 65_000,
            from + 65_000,
            ROUND - 65_000
        ));
    }
    let config = Config { mss: 65_000, initial_window: 1000, ..ecn() };
    Script::established(config).peer_window(1 << 30).run(&text.join("\n"));
}

// An ACK with ECE while nothing but a window probe is outstanding is no ground to wait for an ACK of that.
#[test]
fn a_mark_echoed_while_the_window_is_closed_does_not_end_its_probes() {
    for recovery in [Recovery::Reno, Recovery::Sack, Recovery::Rack(lasthop_tcp::RackConfig::ALL)] {
        Script::established(Config { recovery, sack: true, ..ecn() }).run(
            "
            +0    write 1000
            +0    > 1:1001(1000)
            +10ms < . ack 1001 win 0
            +0    write 1000
            +1s   > 1001:1002(1)
            +10ms < E. ack 1001 win 0
            +0    reason window-probe
            3.01s > 1001:1002(1)
            +0    reason window-probe
            ",
        );
    }
}
