//! F-RTO (RFC 5682, section 3): whether a time-out came too early.

use lasthop_tcp::{Config, RackConfig};

use crate::script::{ALONE, Script, rack};

fn f_rto() -> Config {
    rack(RackConfig { f_rto: true, undo: true, ..ALONE })
}

/// A round trip of 100 ms, then eleven segments whose timer expires after a second.
fn eleven(config: Config, octets: u32, rest: &str) {
    Script::established(config).run(&format!(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    write {octets}
        +0    >> 1001:12001(11000)
        +1s   > 1001:2001(1000)
        +0    timeouts 1 cwnd 1000 ssthresh 5000 lost 11000
        {rest}"
    ));
}

//= RFC 5682, section 3.1, step 2.b: "transmit up to two new (previously unsent) segments"; step 3.b: "declare the timeout spurious", for
//= "the segment acknowledged with this ACK was transmitted before the timeout".
#[test]
fn a_late_ack_of_what_was_not_sent_again_shows_that_the_time_out_came_too_early() {
    eleven(
        f_rto(),
        30_000,
        "
        +10ms < . ack 2001
        +0    >> 12001:14001(2000)
        +0    retransmits 1 undone 0
        +10ms < . ack 3001
        +0    undone 1 lost 0 ssthresh 65535 cwnd 12000
        +0    > 14001:15001(1000)
        +0    in_network 12000 retransmits 1
        ",
    );
}

//= RFC 5682, section 3.1, step 3.a: "covers more than RecoveryPoint": "proceed with the conventional RTO recovery".
#[test]
fn new_data_reported_behind_the_gap_shows_that_it_did_not() {
    eleven(
        f_rto(),
        30_000,
        "
        +100ms < . ack 2001
        +0    >> 12001:14001(2000)
        +100ms < . ack 2001 <sack 12001:13001>
        +0    > 2001:3001(1000)
        +0    < . ack 2001 <sack 12001:14001>
        +0    > 3001:4001(1000)
        +0    undone 0 ssthresh 5000 retransmits 3
        +100ms < . ack 4001 <sack 12001:14001>
        +0    >> 4001:8001(4000)
        +0    undone 0 timeouts 1
        ",
    );
}

//= RFC 5682, section 3.1, step 2.b: "it does not have any new data to send": "refrain from entering step 3": later ACKs undo nothing.
#[test]
fn without_new_data_the_time_out_counts_as_real() {
    eleven(
        f_rto(),
        11_000,
        "
        +10ms < . ack 2001
        +0    >> 2001:4001(2000)
        +10ms < . ack 5001
        +0    undone 0 ssthresh 5000
        +0    >> 5001:10001(5000)
        ",
    );
}

//= RFC 5682, section 3.1, step 2.b: the same "due to receiver window limitation".
#[test]
fn without_room_in_the_window_of_the_receiver_too() {
    Script::established(f_rto()).peer_window(4000).run(
        "
        +0    write 30000
        +0    >> 1:4001(4000)
        +1s   > 1:1001(1000)
        +10ms < . ack 1001 win 3000
        +0    >> 1001:3001(2000)
        +0    undone 0
        ",
    );
}

//= RFC 5682, section 3.1, step 2.a: "Do not enter step 3" where all is acknowledged that was sent: the time-out recovery is over.
#[test]
fn an_ack_of_everything_ends_recovery() {
    eleven(
        f_rto(),
        11_000,
        "
        +100ms < . ack 12001
        +0    undone 1 in_network 0            # ten of them were not sent again
        ",
    );
}

//= RFC 5682, section 3.1, step 1: a second time-out for the same segment is examined too, and ssthresh stays (RFC 5681, section 3.1).
#[test]
fn a_second_time_out_in_a_row_is_examined_too() {
    eleven(
        f_rto(),
        30_000,
        "
        +2s   > 1001:2001(1000)
        +0    timeouts 2 ssthresh 5000 cwnd 1000
        +10ms < . ack 2001
        +0    >> 12001:14001(2000)
        +10ms < . ack 3001
        +0    undone 1 ssthresh 65535
        +0    > 14001:15001(1000)
        ",
    );
}

//= RFC 5682, section 3.1: "SHOULD NOT be applied if the TCP sender is already in loss recovery when a retransmission timeout occurs".
#[test]
fn a_time_out_in_recovery_is_not_examined() {
    Script::established(f_rto()).run(
        "
        +0    write 30000
        +0    >> 1:10001(10000)
        +100ms < . ack 1 <sack 1001:4001>
        +0    > 1:1001(1000)
        +1s   > 1:1001(1000)
        +0    timeouts 1 ssthresh 5000
        +100ms < . ack 4001
        +0    >> 4001:6001(2000)
        +0    undone 0
        ",
    );
}

#[test]
fn without_it_what_follows_goes_again() {
    eleven(
        rack(RackConfig { undo: true, ..ALONE }),
        30_000,
        "
        +10ms < . ack 2001
        +0    >> 2001:4001(2000)
        +10ms < . ack 3001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    undone 0
        ",
    );
}
