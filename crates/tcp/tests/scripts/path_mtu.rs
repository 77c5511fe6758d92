//! Segments that are too large for the path: RFC 1191 and RFC 4821.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_packet::{Instant, Seq, quote};
use lasthop_tcp::{Config, Connection, Recovery};

use crate::script::{ALONE, Script, config, rack};

//= RFC 1191, section 6.5: the retransmission is no congestion, and one message is enough.
#[test]
fn what_is_outstanding_in_larger_segments_goes_again_at_once_and_the_window_is_as_many_segments() {
    Script::established(rack(ALONE)).run(
        "
        +0    write 3300
        +0    >> 1:3301(3300)
        +10ms icmp 1001 mtu 640
        +0    > 1:601(600)
        +0    > 601:1001(400)
        +0    > 1001:1601(600)
        +0    > 1601:2001(400)
        +0    > 2001:2601(600)
        +0    > 2601:3001(400)
        +0    mss 600 cwnd 6000 icmp_accepted 1
        +0    icmp 1 mtu 640
        +0    icmp 2001 mtu 640
        +0    icmp_accepted 1
        +10ms < . ack 3301
        +0    write 1000
        +0    > 3301:3901(600)
        +0    > 3901:4301(400)
        +0    timeouts 0 fast_retransmits 0
        ",
    );
}

#[test]
fn where_segments_are_not_known_one_by_one_all_go_again() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        Script::established(Config { recovery, sack: true, initial_window: 5, ..config() }).run(
            "
            +0    write 3000
            +0    >> 1:3001(3000)
            +10ms icmp 1 mtu 640
            +0    >> 1:3001(3000)
            +0    cwnd 3000
            +10ms < . ack 3001
            ",
        );
    }
}

#[test]
fn a_message_about_what_is_not_outstanding_changes_nothing() {
    Script::established(rack(ALONE)).run(
        "
        +0    write 2000
        +0    >> 1:2001(2000)
        +10ms < . ack 1001
        +0    icmp 1 mtu 640               # acknowledged
        +0    icmp 2001 mtu 640            # not sent
        +0    icmp 1001 mtu 1400           # what it takes is more than a segment
        +0    mss 1000 icmp_accepted 0
        ",
    );
}

// The least MTU of Linux's IPv4 (`min_pmtu`): below it routers fragment.
#[test]
fn segments_are_not_smaller_than_what_fits_into_552_octets() {
    Script::established(rack(ALONE)).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +10ms icmp 1 mtu 68
        +0    > 1:513(512)
        +0    > 513:1001(488)
        +0    icmp 1 mtu 68
        +0    icmp_accepted 1
        ",
    );
}

fn probing() -> Config {
    Config { mss: 1400, mtu_probing: true, ..rack(ALONE) }
}

//= RFC 4821, section 7.7: segments that time out again and again may be too large for the path.
#[test]
fn from_the_third_time_out_in_a_row_on_segments_are_smaller() {
    Script::established(probing()).run(
        "
        +0    write 1400
        +0    > 1:1401(1400)
        1s    > 1:1401(1400)
        3s    > 1:1401(1400)
        7s    > 1:1025(1024)
        +0    mss 1024
        15s   > 1:513(512)
        31s   > 1:513(512)
        +0    mss 512
        ",
    );
}

#[test]
fn what_is_small_is_not_lost_for_its_size() {
    Script::established(probing()).run(
        "
        +0    write 500
        +0    > 1:501(500)
        1s    > 1:501(500)
        3s    > 1:501(500)
        7s    > 1:501(500)
        +0    mss 1400
        ",
    );
}

// An outage has the same signs.
#[test]
fn once_small_segments_are_acknowledged_a_large_one_is_tried_and_if_it_arrives_all_are_large() {
    Script::established(probing()).run(
        "
        +0    write 9000
        +0    >> 1:9001(9000)
        1s    > 1:1401(1400)
        3s    > 1:1401(1400)
        7s    > 1:1025(1024)
        +10ms < . ack 1025
        +0    > 1025:1401(376)
        +0    > 1401:2801(1400)
        +0    mss 1024
        +10ms < . ack 2801
        +0    mss 1400
        +0    > 2801:4201(1400)
        +0    > 4201:5601(1400)
        +0    > 5601:7001(1400)
        ",
    );
}

#[test]
fn a_large_segment_that_is_lost_goes_again_in_small_ones_and_the_next_is_tried_later() {
    Script::established(probing()).run(
        "
        +0    write 9000
        +0    >> 1:9001(9000)
        1s    > 1:1401(1400)
        3s    > 1:1401(1400)
        7s    > 1:1025(1024)
        +10ms < . ack 1025
        +0    > 1025:1401(376)
        +0    > 1401:2801(1400)
        +10ms < . ack 1401
        +0    > 2801:3825(1024)
        +10ms < . ack 1401 <sack 2801:3825>
        +0    > 1401:2425(1024)
        +0    > 2425:2801(376)
        +0    > 3825:4201(376)
        +0    mss 1024
        +10ms < . ack 4201
        +0    > 4201:5225(1024)
        +0    > 5225:5601(376)
        ",
    );
}

const A: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1));
const B: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2);

/// Both ends send each other what they have, and read; the largest payload from the first one.
fn exchange(ends: [&mut Connection; 2], now: Instant) -> usize {
    let [a, b] = ends;
    let mut largest = 0;
    loop {
        let mut sent = 0;
        while let Some(packet) = a.poll_transmit(now) {
            largest = largest.max(packet.payload().len());
            b.on_segment(&packet, now);
            sent += 1;
        }
        while b.read().is_some() {}
        while let Some(packet) = b.poll_transmit(now) {
            a.on_segment(&packet, now);
            sent += 1;
        }
        if sent == 0 {
            return largest;
        }
    }
}

#[test]
fn a_connection_that_moves_tries_a_large_segment_as_soon_as_it_would_have() {
    // After an outage at once, and after a router's message ten minutes later.
    for (is_told, waits, expected) in [(false, 20, 1400), (true, 20, 600), (true, 601, 1400)] {
        let mut now = Instant::from_secs(1);
        let mut a = Connection::established(probing(), &probing(), A, B, Seq(100), Seq(900));
        let mut b = Connection::established(probing(), &probing(), B, A, Seq(900), Seq(100));
        a.write_stream(1, 0, 1400);
        let first = a.poll_transmit(now).expect("there is data");
        if is_told {
            let message = quote::too_big(&first, ROUTER, 640).expect("it is TCP");
            a.on_icmp(&message, now);
        } else {
            for _ in 0..5 {
                while a.poll_transmit(now).is_some() {}
                now = a.deadline().expect("it is outstanding").at;
                a.on_deadline(now);
            }
        }
        assert!(exchange([&mut a, &mut b], now) <= 600);
        let snapshot = a.snapshot(now).expect("it is open");
        let mut a = Connection::restore(probing(), snapshot, now).expect("it is sound");
        now += Duration::from_secs(waits);
        a.write_stream(1, 1400, 100_000);
        assert_eq!(exchange([&mut a, &mut b], now), expected, "{is_told}, {waits} s");
    }
}
