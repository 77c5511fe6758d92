//! The link layer's word is not TCP's.

use crate::settings::Presets as _;
use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::segment_cache::Cached;

use super::*;
use crate::lle::confirming::Kept;

/// As it is sent again: the receiver's own word is wanted.
pub(super) fn asking(packet: &Packet) -> Packet {
    marked(packet.clone(), Mark::OFFER.with(Mark::EVIDENCE))
}

#[test]
fn what_the_receiver_does_not_confirm_is_sent_again() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    assert!(bench.wait(399).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, [asking(&sent)]);
    // Twice as long each time.
    assert!(bench.wait(799).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, [asking(&sent)]);
    bench.radio(&accepting(ack(FIRST + 100)));
    assert!(bench.wait(60_000).timer().radio.is_empty());
    assert_eq!(bench.lle.unproven(), 0);
}

#[test]
fn what_the_receiver_complains_of_is_sent_again_at_once() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent: Vec<Packet> = (0..3).map(|n| bench.sent(&data(FIRST + n * 100, 100))).collect();
    for packet in &sent {
        bench.delivered(packet);
    }
    let complaint = ack(FIRST).sack(FIRST + 100, FIRST + 200);
    let step = bench.radio(&accepting(complaint.clone()));
    assert_eq!((step.radio, step.passed), (vec![asking(&sent[0])], Some(complaint.clone())));
    assert!(bench.radio(&accepting(complaint.clone())).radio.is_empty(), "it is on its way");
    bench.wait(401);
    assert_eq!(bench.radio(&accepting(complaint)).radio.len(), 1);
}

#[test]
fn complaints_that_were_under_way_when_a_hole_was_filled_are_none() {
    let mut bench = Bench::at_access_point(Settings::default());
    let first = bench.sent(&data(FIRST, 100));
    bench.through(&data(FIRST + 100, 100));
    assert_eq!(bench.delivered(&first).acks(), [FIRST + 200]);
    let complaint = accepting(ack(FIRST).sack(FIRST + 100, FIRST + 200));
    assert!(bench.radio(&complaint).radio.is_empty());
}

#[test]
fn a_copy_carries_the_latest_tsval() {
    let mut bench = Bench::at_access_point(Settings::default());
    let first = bench.sent(&data(FIRST, 100).stamped(u32::MAX - 1, 1));
    bench.delivered(&first);
    bench.sent(&data(FIRST + 100, 100).stamped(3, 1));
    let copies = bench.wait(400).timer().radio;
    assert_eq!(copies, [asking(&first).stamped(3, 1)]);
}

#[test]
fn without_sack_three_duplicates_are_a_complaint() {
    let mut bench = Bench::at_access_point(Settings::default());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    let copies: Vec<usize> = (0..4).map(|_| bench.radio(&accepting(ack(FIRST))).radio.len()).collect();
    assert_eq!(copies, [0, 0, 1, 0]);
}

#[test]
fn duplicates_right_behind_an_advance_may_be_answers_to_repetitions() {
    let mut bench = Bench::at_access_point(Settings::default());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    bench.radio(&evidence(FIRST + 100));
    assert!((0..4).all(|_| bench.radio(&accepting(ack(FIRST + 100))).radio.is_empty()));
}

#[test]
fn d_sack_is_no_complaint() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    let duplicate = ack(FIRST).sack(FIRST - 100, FIRST);
    assert!(bench.radio(&accepting(duplicate)).radio.is_empty());
}

#[test]
fn what_cannot_be_repaired_is_reported() {
    let settings =
        Settings { repairs: 2, evidence_timeout: Duration::from_millis(10), ..Settings::default() };
    let mut bench = Bench::at_access_point(settings);
    bench.through(&data(FIRST, 100));
    let mut reports = Vec::new();
    for _ in 0..10 {
        reports.extend(bench.wait(1000).timer().reports);
    }
    assert_eq!(reports.len(), 3);
    assert_eq!(reports[2], Report::of(&ACKNOWLEDGED_AND_LOST).at(Seq(FIRST)));
    assert_eq!(bench.core(&data(FIRST + 100, 100)).mark(), Mark::OFFER, "and nothing more is promised");
}

#[test]
fn as_published_it_is_lost_and_reported_once() {
    let mut bench = Bench::at_access_point(Settings::published());
    (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
    let complaint = accepting(ack(FIRST).sack(FIRST + 100, FIRST + 200));
    let lost = Report::of(&ACKNOWLEDGED_AND_LOST).at(Seq(FIRST));
    assert!(bench.radio(&complaint).reports.is_empty(), "it may be under way");
    bench.wait(400);
    assert_eq!(bench.radio(&complaint).reports, [lost]);
    assert!(bench.radio(&complaint).reports.is_empty());
    assert!(bench.wait(60_000).timer().radio.is_empty());
}

#[test]
fn nothing_is_promised_that_there_is_no_room_to_keep() {
    let budget = Budget::default();
    // A cache makes room for four packets at once, and each lies in a buffer of 320 octets.
    let for_two = 4 * size_of::<Cached<Kept>>() + 2 * 320;
    for (settings, budget) in [
        (Settings { kept_octets: 300, ..Settings::default() }, budget),
        (Settings::default(), Budget { octets_per_flow: for_two, ..budget }),
        (Settings::default(), Budget { octets_in_all: for_two, ..budget }),
    ] {
        let mut bench = Bench::at_access_point(settings);
        bench.budget = budget;
        let promises: Vec<bool> =
            (0..4).map(|n| bench.core(&data(FIRST + n * 100, 100)).mark().has(Mark::PROMISE)).collect();
        assert_eq!(promises, [true, true, false, false]);
        // The receiver's own ACK makes room.
        bench.radio(&accepting(ack(FIRST + 400)));
        assert!(bench.core(&data(FIRST + 400, 100)).mark().has(Mark::PROMISE));
    }
}

#[test]
fn a_shorter_repetition_does_not_replace_what_is_kept() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 200));
    bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    assert_eq!(bench.wait(400).timer().radio, [asking(&sent)]);
}
