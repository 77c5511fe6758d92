//! Withheld losses are under repair, or will be within a part of the hop's round trip.

use super::*;

/// A flow over a hop of 20 ms, with all data acknowledged up to the returned number, on which a
/// segment may overtake one other.
fn bench() -> (Bench<Today>, u32) {
    let mut bench = Bench::<Today>::with(Settings { local_window: false, ..Settings::default() });
    for round in 0..4 {
        bench.burst(200 * round, 2);
        bench.wait(20).radio(&ack(200 * round + 200));
    }
    (bench, 800)
}

#[test]
fn a_hole_overtaken_by_few_is_repaired_after_a_quarter_round_trip() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    let passed = bench.pass_ack(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    assert_eq!(passed, (None, vec![]), "it may have been overtaken");
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq, 100)]);
    assert!(bench.wait(20).timer().is_empty(), "the copy has the time that it takes");
    assert_eq!(bench.pass_ack(&ack(seq + 200)), (Some(ack(seq + 200)), vec![]));
}

#[test]
fn an_overtaken_segment_that_arrives_in_a_quarter_round_trip_is_not_repaired() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 3);
    bench.wait(20);
    bench.pass_ack(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    bench.wait(3);
    bench.pass_ack(&ack(seq + 200));
    assert!(bench.wait(10).timer().is_empty());
}

#[test]
fn a_later_overtaken_segment_has_its_own_window() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 4);
    bench.wait(20);
    bench.pass_ack(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    bench.wait(3);
    bench.pass_ack(&ack(seq + 200).sack(&[(seq + 300, seq + 400)]));
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq + 200, 100)]);
}

#[test]
fn without_sack_a_single_duplicate_ack_starts_a_repair_later() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    assert_eq!(bench.pass_ack(&ack(seq)), (None, vec![]));
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq, 100)]);
    assert!(bench.wait(20).timer().is_empty());
}

#[test]
fn acks_without_news_do_not_extend_the_reordering_window() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20).pass_ack(&ack(seq));
    bench.wait(3).radio(&ack(seq).window(WINDOW + 1));
    assert_eq!(pieces(&bench.wait(2).timer()), [(seq, 100)]);
}

#[test]
fn the_senders_repairs_have_no_reordering_window() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    bench.core(&data(seq, 100));
    let truth = ack(seq).sack(&[(seq + 100, seq + 200)]);
    assert_eq!(bench.pass_ack(&truth), (Some(truth), vec![]));
    assert!(bench.wait(19).timer().is_empty());
}

#[test]
fn on_a_reordering_hop_holes_are_reported_until_copies_are_needed_again() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 4);
    bench.wait(20);
    let truth = ack(seq).sack(&[(seq + 100, seq + 400)]);
    assert_eq!(bench.pass_ack(&truth).0, None);
    bench.wait(1).pass_ack(&ack(seq + 400));
    let mut next = seq + 400;
    // The copy was needless: the hop reorders.
    bench.burst(next, 4);
    bench.wait(20);
    let truth = ack(next).sack(&[(next + 100, next + 400)]);
    assert_eq!(bench.pass_ack(&truth).0, Some(truth));
    bench.wait(25).timer();
    bench.wait(20).pass_ack(&ack(next + 400));
    // Four needed copies compensate for it.
    for _ in 0..4 {
        next += 400;
        bench.burst(next, 4);
        bench.wait(20).pass_ack(&ack(next).sack(&[(next + 100, next + 400)]));
        bench.wait(10).timer();
        bench.wait(20).pass_ack(&ack(next + 400));
    }
    next += 400;
    bench.burst(next, 4);
    bench.wait(20);
    assert_eq!(bench.pass_ack(&ack(next).sack(&[(next + 100, next + 400)])).0, None);
}

#[test]
fn without_sack_duplicate_acks_are_withheld_on_a_reordering_hop_too() {
    let (mut bench, first) = bench();
    for round in 0..4 {
        let seq = first + 400 * round;
        bench.burst(seq, 4);
        bench.wait(20);
        assert_eq!(bench.pass_ack(&ack(seq)).0, None, "{round}");
        bench.wait(1).pass_ack(&ack(seq + 400));
    }
}

#[test]
fn without_sack_needless_copies_raise_the_duplicate_ack_threshold() {
    let (mut bench, first) = bench();
    let mut copies = Vec::new();
    for round in 0..6 {
        let seq = first + 800 * round;
        bench.burst(seq, 8);
        bench.wait(20);
        // The first of them is late, and arrives before a copy could.
        let copied = (0..3).flat_map(|_| bench.pass_ack(&ack(seq)).1).count();
        copies.push(copied);
        bench.wait(2).pass_ack(&ack(seq + 800));
    }
    assert_eq!(copies.first(), Some(&1));
    assert_eq!(copies.last(), Some(&0), "{copies:?}");
}
