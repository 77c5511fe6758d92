//! Proportional rate reduction (PRR, RFC 9937 and 6937).

use lasthop_tcp::{Config, Congestion, RackConfig};

use crate::script::{ALONE, Script, rack};

fn prr() -> Config {
    rack(RackConfig { proportional_reduction: true, ..ALONE })
}

/// Linux's CUBIC: seven tenths of ten segments are left.
fn cubic() -> Config {
    Config { congestion: Congestion::CubicLinux, ..prr() }
}

/// Twenty segments have left, and of these so many at the beginning are lost. For each of the ACKs that follow: cwnd, what is in the
/// network before anything leaves, and what leaves: a retransmission (R), new data (N), or nothing.
fn twenty(lost: u32, rows: &[(u32, u32, char)]) {
    let mut text = vec![String::from("+0 write 100000\n+0 >> 1:20001(20000)\n+100ms una 1\n")];
    let (mut again, mut new) = (1, 20_001);
    for (at, (cwnd, in_network, leaves)) in rows.iter().enumerate() {
        let (left, right) = (lost * 1000 + 1, (lost + 1 + at as u32) * 1000 + 1);
        text.push(format!("+0 < . ack 1 <sack {left}:{right}>\n"));
        let next = match leaves {
            'R' => Some(&mut again),
            'N' => Some(&mut new),
            _ => None,
        };
        let is_sent = next.is_some();
        if let Some(next) = next {
            text.push(format!("+0 > {next}:{}(1000)\n", *next + 1000));
            *next += 1000;
        }
        let in_network = (in_network + u32::from(is_sent)) * 1000;
        text.push(format!("+0 cwnd {} in_network {in_network}\n", cwnd * 1000));
    }
    Script::established(Config { initial_window: 20, ..prr() }).run(&text.join("\n"));
}

//= RFC 6937, section 4, the example of one loss, line PRR: cwnd and pipe go down by one with every second ACK, to ssthresh: from there
//= on no more than fits below it.
#[test]
fn one_loss_takes_half_of_the_window_off_evenly_over_a_round_trip() {
    twenty(
        1,
        &[
            (20, 19, 'N'),
            (20, 19, 'N'),
            (19, 18, 'R'),
            (18, 18, '-'),
            (18, 17, 'N'),
            (17, 17, '-'),
            (17, 16, 'N'),
            (16, 16, '-'),
            (16, 15, 'N'),
            (15, 15, '-'),
            (15, 14, 'N'),
            (14, 14, '-'),
            (14, 13, 'N'),
            (13, 13, '-'),
            (13, 12, 'N'),
            (12, 12, '-'),
            (12, 11, 'N'),
            (11, 11, '-'),
            (10, 10, '-'),
        ],
    );
}

//= RFC 6937, section 4, the example of a burst of 15 losses out of 20, lines PRR: for each segment delivered one leaves.
#[test]
fn a_burst_of_losses_beyond_the_reduction_leaves_as_much_as_is_delivered() {
    twenty(15, &[(20, 19, 'N'), (20, 19, 'N'), (5, 4, 'R'), (5, 4, 'R'), (5, 4, 'R')]);
}

//= RFC 9937, section 6: "If SafeACK: SndCnt += SMSS", up to ssthresh: as in slow start.
#[test]
fn below_ssthresh_an_ack_of_new_data_without_another_loss_lets_one_segment_more_go() {
    Script::established(Config { initial_window: 20, ..prr() }).run(
        "
        +0    write 100000
        +0    >> 1:20001(20000)
        +100ms < . ack 1 <sack 15001:18001>
        +0    >> 1:3001(3000)                            # three are delivered
        +0    lost 15000 in_network 5000 cwnd 5000 ssthresh 10000
        +1ms  < . ack 1 <sack 15001:20001>
        +0    >> 3001:5001(2000)
        +0    in_network 5000 cwnd 5000
        +99ms < . ack 1001 <sack 15001:20001>            # delivered: one, and one for safety
        +0    >> 5001:7001(2000)
        +0    in_network 6000 cwnd 6000
        +0    < . ack 2001 <sack 15001:20001>
        +0    >> 7001:9001(2000)
        +0    < . ack 3001 <sack 15001:20001>
        +0    >> 9001:11001(2000)
        +0    in_network 8000 cwnd 8000
        +1ms  < . ack 5001 <sack 15001:20001>            # two, and one: nine
        +0    >> 11001:14001(3000)
        +0    in_network 9000 cwnd 9000
        +99ms < . ack 7001 <sack 15001:20001>
        +0    > 14001:15001(1000)
        +0    >> 20001:22001(2000)
        +0    in_network 10000 cwnd 10000
        +0    < . ack 9001 <sack 15001:20001>            # ssthresh is reached: one for one
        +0    >> 22001:24001(2000)
        +0    in_network 10000 cwnd 10000
        ",
    );
}

//= RFC 9937, section 6: "SndCnt = MIN (ssthresh - inflight, SndCnt)", with "MAX (prr_delivered - prr_out, DeliveredData)": what was
//= not sent for lack of data may go later, up to ssthresh.
#[test]
fn an_application_that_had_nothing_to_send_catches_up_to_ssthresh() {
    Script::established(prr()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:10001>
        +0    in_network 1000 cwnd 5000
        +0    write 10000
        +0    >> 10001:14001(4000)
        ",
    );
}

//= RFC 9937, section 6: "If prr_out is 0 AND SndCnt is 0: SndCnt = SMSS": the first retransmission leaves.
#[test]
fn the_first_retransmission_leaves_whatever_the_reduction_says() {
    // One of ten is reported in pieces: nothing is due before a whole segment of the share.
    Script::established(prr()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:1101>
        +25ms > 1:1001(1000)
        +0    fast_retransmits 1 ssthresh 5000
        ",
    );
}

//= RFC 9937, section 6: RecoverFS is what was in the network; where the reordering timer begins recovery, no ACK delivers anything.
#[test]
fn where_the_reordering_timer_begins_recovery_what_is_reported_does_not_count() {
    Script::established(prr()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:3001>
        +0    write 20000
        +0    >> 10001:12001(2000)
        +25ms > 1:1001(1000)                   # RecoverFS: 10; ssthresh: 5
        +0    in_network 10000 cwnd 10000
        +0    < . ack 1 <sack 1001:4001>
        +0    cwnd 9000
        +0    < . ack 1 <sack 1001:5001>
        +0    cwnd 8000
        +0    < . ack 1 <sack 1001:6001>       # three of ten, times five: two; one has left
        +0    > 12001:13001(1000)
        +0    cwnd 8000
        ",
    );
}

//= RFC 9937, section 6: "PRR ends [...] cwnd = ssthresh".
#[test]
fn at_the_end_of_recovery_the_window_is_ssthresh() {
    Script::established(prr()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 1001:10001>
        +100ms < . ack 10001
        +0    cwnd 5000 ssthresh 5000 in_network 0
        ",
    );
}

// The kernel's test `prr-ss-10pkt-lost-1`: what is in flight is ssthresh all the way, and a segment leaves for each delivered.
#[test]
fn with_cubic_one_of_ten_lost_leaves_a_segment_for_each_delivered() {
    Script::established(cubic()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +110ms < . ack 1 <sack 1001:2001>
        +10ms < . ack 1 <sack 1001:3001>
        +10ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +10ms cwnd 7000 ssthresh 7000
        +10ms write 7000
        +10ms < . ack 1 <sack 1001:5001>
        +0    > 10001:11001(1000)
        +10ms < . ack 1 <sack 1001:6001>
        +0    > 11001:12001(1000)
        +10ms < . ack 1 <sack 1001:7001>
        +0    > 12001:13001(1000)
        +10ms < . ack 1 <sack 1001:8001>
        +0    > 13001:14001(1000)
        +10ms < . ack 1 <sack 1001:9001>
        +0    > 14001:15001(1000)
        +10ms < . ack 1 <sack 1001:10001>
        +0    > 15001:16001(1000)
        +20ms < . ack 10001
        +0    > 16001:17001(1000)
        +10ms cwnd 7000 ssthresh 7000
        ",
    );
}

// The kernel's test `prr-ss-30pkt-lost1_4`.
#[test]
fn with_cubic_the_first_four_of_ten_lost_go_again_one_an_ack() {
    Script::established(cubic()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +10ms < . ack 1 <sack 4001:5001>
        +2ms  < . ack 1 <sack 4001:6001>
        +0    < . ack 1 <sack 4001:7001>
        +0    > 1:1001(1000)
        +0    < . ack 1 <sack 4001:8001>
        +0    > 1001:2001(1000)
        +0    < . ack 1 <sack 4001:9001>
        +0    > 2001:3001(1000)
        +0    < . ack 1 <sack 4001:10001>
        +0    > 3001:4001(1000)
        +10ms < . ack 1001 <sack 4001:10001>
        +0    < . ack 2001 <sack 4001:10001>
        +0    < . ack 3001 <sack 4001:10001>
        +0    < . ack 10001
        +0    cwnd 7000
        +10ms write 10000
        +0    >> 10001:17001(7000)
        ",
    );
}

// The kernel's test `prr-ss-30pkt-lost-1_4-11_16`: conservation below ssthresh, slow start with an ACK of new data, conservation again
// with the loss of a retransmission.
#[test]
fn with_cubic_two_bursts_of_losses_and_a_lost_retransmission() {
    Script::established(cubic()).run(
        "
        +0    write 20000
        +0    >> 1:10001(10000)
        +10ms < . ack 1 <sack 4001:5001>
        +0    > 10001:11001(1000)
        +2ms  < . ack 1 <sack 4001:6001>
        +0    > 11001:12001(1000)
        +2ms  < . ack 1 <sack 4001:7001>
        +0    > 1:1001(1000)
        +2ms  < . ack 1 <sack 4001:8001>
        +0    > 1001:2001(1000)
        +2ms  < . ack 1 <sack 4001:9001>
        +0    > 2001:3001(1000)
        +2ms  < . ack 1 <sack 4001:10001>
        +0    > 3001:4001(1000)
        +2ms  < . ack 1 <sack 4001:11001>
        +0    > 12001:13001(1000)
        +2ms  < . ack 1 <sack 4001:12001>
        +0    > 13001:14001(1000)
        +10ms < . ack 1001 <sack 4001:12001>
        +0    >> 14001:16001(2000)
        +2ms  < . ack 1001 <sack 2001:12001>
        +0    > 1001:2001(1000)
        +0    > 16001:17001(1000)
        +2ms  < . ack 1001 <sack 2001:13001>
        +0    > 17001:18001(1000)
        +2ms  < . ack 1001 <sack 2001:14001>
        +0    > 18001:19001(1000)
        ",
    );
}

// The kernel's test `prr-ss-ack-below-snd_una-cubic`: an ACK that was overtaken still reports.
#[test]
fn an_older_ack_that_reports_more_lets_data_go() {
    Script::established(cubic()).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +10ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    < . ack 1 <sack 1001:3001, sack 8001:9001>
        +0    > 1:1001(1000)
        +0    lost 6000 in_network 2000 cwnd 2000
        +12ms < . ack 4001 <sack 8001:9001>
        +0    >> 4001:7001(3000)
        +0    lost 4000 in_network 4000 cwnd 4000
        +0    write 10000
        +2ms  < . ack 3001 <sack 5001:7001>
        +0    > 7001:8001(1000)
        +0    > 10001:11001(1000)
        ",
    );
}
