//! What is kept from the sender is under repair, or is so within a part of the hop's round trip.

use super::*;

/// A flow over a hop of 20 ms, with everything acknowledged up to the number returned, on which a
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
fn a_hole_that_too_few_segments_overtook_is_repaired_after_a_quarter_of_the_hops_round_trip() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    let told = bench.hear(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    assert_eq!(told, (None, vec![]), "it may have been overtaken");
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq, 100)]);
    assert!(bench.wait(20).timer().is_empty(), "the copy has the time that it takes");
    assert_eq!(bench.hear(&ack(seq + 200)), (Some(ack(seq + 200)), vec![]));
}

#[test]
fn what_was_overtaken_and_comes_within_a_quarter_of_the_hops_round_trip_is_not_repaired() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 3);
    bench.wait(20);
    bench.hear(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    bench.wait(3);
    bench.hear(&ack(seq + 200));
    assert!(bench.wait(10).timer().is_empty());
}

#[test]
fn what_becomes_doubtful_later_has_its_own_time() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 4);
    bench.wait(20);
    bench.hear(&ack(seq).sack(&[(seq + 100, seq + 200)]));
    bench.wait(3);
    bench.hear(&ack(seq + 200).sack(&[(seq + 300, seq + 400)]));
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq + 200, 100)]);
}

#[test]
fn a_duplicate_ack_of_a_receiver_without_sack_starts_a_repair_if_no_other_follows() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    assert_eq!(bench.hear(&ack(seq)), (None, vec![]));
    assert!(bench.wait(4).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(seq, 100)]);
    assert!(bench.wait(20).timer().is_empty());
}

#[test]
fn a_doubt_is_not_put_off_by_acks_that_tell_nothing_new() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20).hear(&ack(seq));
    bench.wait(3).radio(&ack(seq).window(WINDOW + 1));
    assert_eq!(pieces(&bench.wait(2).timer()), [(seq, 100)]);
}

#[test]
fn what_the_sender_repairs_itself_is_in_no_doubt() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 2);
    bench.wait(20);
    bench.core(&data(seq, 100));
    let truth = ack(seq).sack(&[(seq + 100, seq + 200)]);
    assert_eq!(bench.hear(&truth), (Some(truth), vec![]));
    assert!(bench.wait(19).timer().is_empty());
}

#[test]
fn on_a_hop_that_reorders_the_sender_hears_of_all_holes_until_copies_are_needed_again() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 4);
    bench.wait(20);
    let truth = ack(seq).sack(&[(seq + 100, seq + 400)]);
    assert_eq!(bench.hear(&truth).0, None);
    bench.wait(1).hear(&ack(seq + 400));
    let mut next = seq + 400;
    // The copy was needless: the hop reorders.
    bench.burst(next, 4);
    bench.wait(20);
    let truth = ack(next).sack(&[(next + 100, next + 400)]);
    assert_eq!(bench.hear(&truth).0, Some(truth));
    bench.wait(25).timer();
    bench.wait(20).hear(&ack(next + 400));
    // Four copies that were needed make up for it.
    for _ in 0..4 {
        next += 400;
        bench.burst(next, 4);
        bench.wait(20).hear(&ack(next).sack(&[(next + 100, next + 400)]));
        bench.wait(10).timer();
        bench.wait(20).hear(&ack(next + 400));
    }
    next += 400;
    bench.burst(next, 4);
    bench.wait(20);
    assert_eq!(bench.hear(&ack(next).sack(&[(next + 100, next + 400)])).0, None);
}

#[test]
fn of_a_receiver_without_sack_duplicate_acks_are_withheld_on_a_hop_that_reorders_too() {
    let (mut bench, first) = bench();
    for round in 0..4 {
        let seq = first + 400 * round;
        bench.burst(seq, 4);
        bench.wait(20);
        assert_eq!(bench.hear(&ack(seq)).0, None, "{round}");
        bench.wait(1).hear(&ack(seq + 400));
    }
}

#[test]
fn of_a_receiver_without_sack_more_duplicate_acks_are_awaited_where_copies_were_needless() {
    let (mut bench, first) = bench();
    let mut copies = Vec::new();
    for round in 0..6 {
        let seq = first + 800 * round;
        bench.burst(seq, 8);
        bench.wait(20);
        // The first of them is late, and comes before a copy could.
        let copied = (0..3).flat_map(|_| bench.hear(&ack(seq)).1).count();
        copies.push(copied);
        bench.wait(2).hear(&ack(seq + 800));
    }
    assert_eq!(copies.first(), Some(&1));
    assert_eq!(copies.last(), Some(&0), "{copies:?}");
}
