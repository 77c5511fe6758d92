//! Which of the sender's segments are dropped.

use super::*;
use crate::wtcp::buffer::BUFFERED;

#[test]
fn a_duplicate_of_stored_data_is_dropped_and_one_of_acknowledged_data_passes() {
    let mut bench = Bench::new();
    for place in 0..4 {
        bench.send(&data(place));
    }
    bench.wait(4).radio(&ack(2));
    assert_eq!(bench.core(&data(1)).0, Verdict::Forward, "its ACK was lost behind us");
    for place in [2, 3] {
        assert_eq!(bench.core(&data(place)).0, Verdict::Drop(&BUFFERED));
    }
    assert_eq!(bench.core(&data(4)).0, Verdict::Forward);
}

/// A sender that learned of a smaller MTU beyond the hop retransmits smaller segments.
#[test]
fn smaller_segments_of_stored_data_pass() {
    for is_told in [true, false] {
        let mut bench = Bench::new();
        for place in 0..3 {
            bench.send(&data(place));
        }
        if is_told {
            let message = lasthop_packet::quote::too_big(&data(0), SERVER, 100).expect("it is about TCP");
            assert_eq!(bench.radio(&message).0, Some(message));
        }
        let half = SIZE / 2;
        for piece in 0..6 {
            let tcp = Tcp { seq: Seq(piece * half), ..data(0).tcp().expect("TCP").clone() };
            let piece = segment((SERVER, 80), (MOBILE, 4000), tcp, half);
            assert_eq!(bench.core(&piece).0, Verdict::Forward, "{is_told}: {piece:?}");
        }
        let again = bench.timers_until(2_000);
        assert!(again.iter().all(|place| *place < 3), "{again:?}");
    }
}

#[test]
fn a_duplicate_of_waiting_data_is_dropped() {
    let mut bench = Bench::new();
    let waiting = (0..40).find(|place| bench.core(&data(*place)).0 == Verdict::Absorb);
    let waiting = waiting.expect("the window is small at first");
    assert_eq!(bench.core(&data(waiting)).0, Verdict::Drop(&BUFFERED));
    assert_eq!(bench.wtcp.held(), 1);
}

#[test]
fn a_segment_that_fills_a_hole_or_exceeds_the_stored_data_passes() {
    let mut bench = Bench::new();
    for place in [0, 2, 3] {
        bench.send(&data(place));
    }
    assert_eq!(bench.core(&data(1)).0, Verdict::Forward, "it was lost before us");
    assert_eq!(bench.core(&data(1)).0, Verdict::Drop(&BUFFERED));
    let longer = segment((SERVER, 80), (MOBILE, 4000), data(3).tcp().expect("TCP").clone(), 2 * SIZE);
    assert_eq!(bench.core(&longer).0, Verdict::Forward);
}

#[test]
fn a_duplicate_with_other_news_passes() {
    type Edit = fn(&mut Tcp);
    let edits: [(&str, Edit); 7] = [
        ("a later ACK", |tcp| tcp.ack += 1),
        ("another window", |tcp| tcp.window += 1),
        ("a SACK block", |tcp| tcp.options.sack.push(Seq(90), Seq(95))),
        ("an unknown option", |tcp| tcp.options.unknown = Some(Box::new([30, 4, 0, 0]))),
        ("urgent data", |tcp| tcp.flags = tcp.flags.with(TcpFlags::URG)),
        ("congestion", |tcp| tcp.flags = tcp.flags.with(TcpFlags::ECE)),
        ("a smaller window of ours", |tcp| tcp.flags = tcp.flags.with(TcpFlags::CWR)),
    ];
    for (what, edit) in edits {
        let mut bench = Bench::new();
        bench.send(&data(0));
        bench.send(&data(1));
        assert_eq!(bench.core(&data(1)).0, Verdict::Drop(&BUFFERED));
        assert_eq!(bench.core(&data(1).but(edit)).0, Verdict::Forward, "{what}");
    }
}

#[test]
fn duplicates_are_dropped_through_an_outage_and_the_hop_is_tried_each_second() {
    let mut bench = Bench::new();
    for place in 0..3 {
        bench.send(&data(place));
    }
    let mut tries = bench.timers_until(10_000).len();
    assert_eq!(bench.core(&data(0)).0, Verdict::Drop(&BUFFERED));
    tries += bench.timers_until(30_000).len();
    assert_eq!(bench.core(&data(0)).0, Verdict::Drop(&BUFFERED));
    assert!((20..60).contains(&tries), "{tries}");
}

#[test]
fn a_duplicate_passes_once_local_recovery_has_given_up() {
    let mut bench = Bench::with(Settings { local_retransmissions: 5, ..Settings::default() });
    bench.send(&data(0));
    bench.send(&data(1));
    bench.timers_until(20_000);
    assert_eq!(bench.core(&data(0)).0, Verdict::Forward);
}

#[test]
fn a_duplicate_passes_once_the_retransmission_limit_is_reached() {
    let mut bench = Bench::with(Settings { local_retransmissions: 0, ..Settings::default() });
    for place in 0..6 {
        bench.send(&data(place));
    }
    bench.wait(4).radio(&ack(1).sack(&[(SIZE * 2, SIZE * 6)]));
    assert_eq!(bench.core(&data(1)).0, Verdict::Forward);
    assert_eq!(bench.core(&data(4)).0, Verdict::Drop(&BUFFERED));
}

#[test]
fn a_duplicate_passes_if_the_mobile_host_rejects_our_copies() {
    let mut bench = Bench::new();
    for place in 0..3 {
        bench.send(&data(place));
    }
    bench.wait(4).radio(&ack(1));
    let started = bench.now.as_millis();
    bench.timers_until(started + 500);
    assert_eq!(bench.core(&data(1)).0, Verdict::Drop(&BUFFERED));
    bench.wait(4).radio(&ack(1));
    assert_eq!(bench.core(&data(1)).0, Verdict::Forward);
}

#[test]
fn the_senders_probes_of_a_closed_window_pass() {
    let mut bench = Bench::new();
    for place in 0..6 {
        bench.send(&data(place));
    }
    // The mobile host had no room for data after 3; its window update is lost on the hop.
    bench.wait(4).radio(&ack(3).but(|tcp| tcp.window = 0));
    assert_eq!(bench.wait(200).core(&data(3)).0, Verdict::Forward);
}

#[test]
fn a_duplicate_passes_on_a_reordering_hop_for_its_dsack() {
    let mut bench = Bench::learnt(Settings::default());
    for place in 16..20 {
        bench.send(&bench.fresh(place));
    }
    let sack = |ack: Packet| ack.sack(&[(SIZE * 17, SIZE * 20)]);
    // The copy of segment 16 was needless: the original arrives late.
    bench.wait(4).radio(&sack(ack(16)));
    bench.wait(1).radio(&ack(20));
    for place in 20..24 {
        bench.send(&bench.fresh(place));
    }
    assert_eq!(bench.core(&bench.fresh(21)).0, Verdict::Forward);
}
