//! Loss detection by time (RACK, RFC 8985, sections 6 and 3.3).

use lasthop_tcp::RackConfig;

use crate::script::{ALONE, Script, rack};

/// Ten segments have left at 0; the path takes 100 ms.
fn ten(octets: u32, rest: &str) {
    run(&format!("+0 write {octets}\n+0 >> 1:10001(10000)\n{rest}"));
}

fn run(text: &str) {
    Script::established(rack(ALONE)).run(text);
}

//= RFC 8985, section 6.2, step 4: "If RACK.reordering_seen is FALSE: ... Else if RACK.segs_sacked >= DupThresh: Return 0".
#[test]
fn three_segments_reported_mean_a_loss_at_once_where_no_reordering_was_seen() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    lost 0 sacked 2000 reason reordering-window timer 25ms
        +0    < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +0    lost 1000 again 1000 in_network 7000 fast_retransmits 1 ssthresh 5000 cwnd 5000
        ",
    );
}

//= RFC 8985, section 6.2, step 5: "remaining = Segment.xmit_ts + RACK.rtt + RACK.reo_wnd - Now()", with min_RTT / 4 for RACK.reo_wnd.
#[test]
fn a_segment_that_comes_within_a_quarter_of_the_round_trip_was_not_lost() {
    run("
        +0    write 2000
        +0    >> 1:2001(2000)
        +100ms < . ack 1 <sack 1001:2001>
        +24ms < . ack 2001
        +1s   retransmits 0 fast_retransmits 0 cwnd 11000 timer none
        ");
}

//= RFC 8985, section 6.2, step 5: "For timely loss detection, it is RECOMMENDED that the sender install a reordering timer."
#[test]
fn a_segment_that_does_not_is_found_lost_by_the_reordering_timer() {
    run("
        +0    write 2000
        +0    >> 1:2001(2000)
        +100ms < . ack 1 <sack 1001:2001>
        +0    reason reordering-window timer 25ms
        +25ms > 1:1001(1000)
        +0    fast_retransmits 1 timeouts 0 cwnd 5000
        +100ms < . ack 2001
        +0    lost 0 again 0 sacked 0 cwnd 5000
        ");
}

//= RFC 8985, section 6.2, step 5: "timeout = max(remaining, timeout)": the timer is for the last segment that was overtaken.
#[test]
fn the_reordering_timer_waits_for_all_that_was_overtaken() {
    run("
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms write 2000
        +0    >> 1001:3001(2000)
        +100ms < . ack 1 <sack 2001:3001>
        +0    reason reordering-window timer 25ms
        +25ms >> 1:2001(2000)
        +0    lost 2000 fast_retransmits 1
        ");
}

//= RFC 8985, section 6.2: "Otherwise, if some reordering has been observed, then RACK does not trigger fast recovery based on
//= DupThresh."
#[test]
fn where_reordering_was_seen_three_segments_reported_are_no_loss() {
    run("
        +0    write 2000
        +0    >> 1:2001(2000)
        +100ms < . ack 1 <sack 1001:2001>
        +10ms < . ack 2001
        +0    write 8000
        +0    >> 2001:10001(8000)
        +100ms < . ack 2001 <sack 3001:8001>
        +0    sacked 5000 lost 0 reason reordering-window timer 25ms
        +25ms > 2001:3001(1000)
        ");
}

//= RFC 8985, section 6.2, step 3: "Else if Segment.end_seq < RACK.fack AND Segment.retransmitted is FALSE: RACK.reordering_seen = TRUE".
#[test]
fn a_hole_filled_by_a_retransmission_is_no_reordering() {
    ten(
        20_000,
        "
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +100ms < . ack 10001
        +0    >> 10001:16001(6000)
        +100ms < . ack 10001 <sack 11001:14001>
        +0    > 10001:11001(1000)
        +0    fast_retransmits 2
        ",
    );
}

//= RFC 6675, section 5, and `tcp_time_to_recover` in Linux: what was sent after a recovery began and is lost when it ends is a loss of its own.
#[test]
fn a_recovery_that_ends_with_a_later_loss_open_goes_over_into_the_next() {
    ten(
        30_000,
        "
        +100ms < . ack 1 <sack 1001:7001>
        +0    > 1:1001(1000)
        +0    > 10001:11001(1000)
        +10ms < . ack 1 <sack 1001:10001>
        +0    >> 11001:14001(3000)
        +100ms < . ack 1 <sack 11001:14001, sack 1001:10001>   # neither 1 nor 10001 has come
        +0    fast_retransmits 1
        +0    > 1:1001(1000)
        +0    > 10001:11001(1000)
        +0    >> 14001:17001(3000)
        +100ms < . ack 10001 <sack 11001:14001>
        +0    fast_retransmits 2 lost 1000 again 1000
        ",
    );
}

//= RFC 8985, section 3.2 and section 6.2, step 5: RACK detects the loss of a retransmission, as of any other segment.
#[test]
fn a_lost_retransmission_is_found_without_a_time_out() {
    ten(
        20_000,
        "
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +2ms  < . ack 1 <sack 1001:7001>   # five are in the network: 1, 8, 9, 10 and one that is new
        +0    > 10001:11001(1000)
        +99ms < . ack 1 <sack 1001:10001>
        +0    >> 11001:14001(3000)
        +1ms  < . ack 1 <sack 1001:11001>  # 10001 left behind the retransmission, and is here
        +0    > 1:1001(1000)
        +0    > 14001:15001(1000)
        +100ms < . ack 14001
        +0    >> 15001:19001(4000)
        +0    timeouts 0 retransmits 2 fast_retransmits 1
        ",
    );
}

//= RFC 8985, section 6.2, step 2: an ACK that comes sooner than min_RTT after a retransmission does not advance RACK: it is for the original.
#[test]
fn an_early_ack_of_a_retransmission_makes_nothing_lost() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +10ms < . ack 4001
        +0    lost 0 again 0 in_network 6000
        +15ms < . ack 10001
        +0    retransmits 1
        ",
    );
}

//= RFC 8985, section 6.2, step 2: "If ACK.ts_option.echo_reply < Segment.xmit_ts: Continue".
#[test]
fn an_ack_that_echoes_the_original_makes_nothing_lost_however_late_it_comes() {
    let config = lasthop_tcp::Config { timestamps: true, mss: 1012, ..rack(ALONE) };
    Script::established(config).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <TS 1 1, sack 1001:4001>
        +0    > 1:1001(1000)
        +110ms < . ack 1001 <TS 2 1, sack 1001:4001>
        +0    lost 0 again 0
        +10ms < . ack 10001 <TS 3 1>
        +0    retransmits 1
        ",
    );
}

//= RFC 8985, section 6.2, step 2: "RACK.rtt = rtt" with each segment delivered, whether it was sent last or not.
#[test]
fn the_round_trip_time_is_that_of_what_was_delivered_last() {
    // The retransmission took 120 ms, the fourth segment 220: the last may take as long.
    Script::established(rack(RackConfig { proportional_reduction: true, ..ALONE })).run(
        "
        +0    write 10000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:3001>
        +0    < . ack 1 <sack 1001:3001, sack 8001:9001>
        +0    > 1:1001(1000)
        +0    lost 6000
        +120ms < . ack 4001 <sack 8001:9001>
        +0    >> 4001:7001(3000)
        +0    lost 4000 reason reordering-window timer 25ms
        +25ms > 7001:8001(1000)
        +0    lost 5000
        ",
    );
}

//= RFC 8985, section 6.2, step 2: of two segments of one instant, the one with the higher sequence number was sent later.
#[test]
fn what_lies_above_the_newest_segment_delivered_was_not_overtaken() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 2001:5001>
        +0    > 1:1001(1000)
        +0    lost 2000 in_network 6000
        +500ms lost 2000
        ",
    );
}

//= RFC 8985, section 6.2, step 4: "RACK.reo_wnd_mult += 1" with a D-SACK, once in a round trip: the window is two quarters then.
#[test]
fn a_duplicate_reported_widens_the_window_by_a_quarter_once_in_a_round_trip() {
    run("
        +0    write 2000
        +0    >> 1:2001(2000)
        +100ms < . ack 1 <sack 1001:2001>
        +10ms < . ack 2001                               # reordering
        +0    write 4000
        +0    >> 2001:6001(4000)
        +100ms < . ack 2001 <sack 3001:4001>
        +25ms > 2001:3001(1000)
        +5ms  < . ack 4001                               # the original
        +70ms < . ack 4001 <sack 2001:3001>              # and the retransmission
        +0    < . ack 4001 <sack 2001:3001>              # the network doubles the ACK
        +10ms < . ack 6001
        +0    write 2000
        +0    >> 6001:8001(2000)
        +100ms < . ack 6001 <sack 7001:8001>
        +0    reason reordering-window timer 50ms
        +50ms > 6001:7001(1000)
        ");
}

//= RFC 8985, section 6.3: on a time-out what was sent longer ago than RACK.rtt, and the first segment, are lost; the rest is not.
#[test]
fn a_time_out_takes_for_lost_what_had_a_round_trip_to_arrive() {
    run("
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    write 3000
        +0    >> 1001:4001(3000)
        +950ms write 2000
        +0    >> 4001:6001(2000)
        +50ms > 1001:2001(1000)
        +0    lost 3000 again 1000 in_network 3000 cwnd 3000 timeouts 1
        +60ms < . ack 1001 <sack 4001:6001>
        +0    >> 2001:4001(2000)
        ");
}

//= RFC 8985, section 6.3 and 6.2, step 5: after a time-out, too, what was overtaken by what was delivered is lost.
#[test]
fn after_a_time_out_the_retransmission_shows_what_is_lost() {
    run("
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    write 1000
        +0    > 1001:2001(1000)
        +950ms write 1000
        +0    > 2001:3001(1000)
        +50ms > 1001:2001(1000)
        +0    lost 1000 in_network 2000
        +100ms < . ack 2001
        +0    > 2001:3001(1000)
        +0    timeouts 1
        ");
}

//= RFC 8985, section 6.2, step 5: the retransmission has overtaken what left before it, reported or not: a loss at the tail needs no
//= time-out.
#[test]
fn the_retransmission_shows_a_loss_behind_all_that_was_reported() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 1001:9001>
        +0    > 1:1001(1000)
        +0    lost 1000
        +100ms < . ack 9001
        +0    > 9001:10001(1000)
        +0    timeouts 0 fast_retransmits 1
        ",
    );
}

//= RFC 2018, section 8: after a time-out, what was reported is not relied on if the oldest segment is among it.
#[test]
fn a_receiver_that_has_dropped_what_it_reported_gets_all_of_it_again() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 1001:10001>
        +0    > 1:1001(1000)
        +100ms < . ack 1001                  # no more reported, and no more acknowledged
        +0    sacked 9000
        +1s   > 1001:2001(1000)
        +0    sacked 0 lost 9000 timeouts 1
        +100ms < . ack 2001
        +0    >> 2001:4001(2000)
        ",
    );
}

// Hostile blocks: beyond what was sent, below what is acknowledged, turned around, empty.
#[test]
fn blocks_that_cannot_be_true_are_ignored() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 9001:10002>
        +0    < . ack 1 <sack 20001:30001>
        +0    < . ack 1 <sack 3001:2001>
        +0    < . ack 1 <sack 2001:2001>
        +0    < . ack 1 <sack -5000:5001>
        +0    < . ack 1 <sack 5001:-5000>
        +0    < . ack 1 <sack 1:2147490000>
        +0    sacked 0 lost 0 in_network 10000 retransmits 0
        ",
    );
}

// A receiver may report less than before, in pieces of segments, or in blocks that overlap.
#[test]
fn blocks_that_shrink_overlap_or_cut_segments_count_each_octet_once() {
    ten(
        10_000,
        "
        +100ms < . ack 1 <sack 1501:1601>
        +0    sacked 100
        +0    < . ack 1 <sack 1551:1701, sack 1401:1601>
        +0    sacked 300
        +0    < . ack 1 <sack 1501:1502>
        +0    sacked 300
        +0    < . ack 1451 <sack 1501:1701>
        +0    sacked 250 in_network 8300
        +0    < . ack 10001
        +0    sacked 0 in_network 0 again 0 lost 0
        ",
    );
}
