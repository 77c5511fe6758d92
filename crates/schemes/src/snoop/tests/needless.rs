//! Needless copies by the timer: the original had arrived, and its ACK was late.

use super::*;

/// A flow over a hop of 8 ms, with all data acknowledged up to the returned number.
fn bench() -> (Bench<Today>, u32) {
    let mut bench = Bench::<Today>::with(Settings { local_window: false, ..Settings::default() });
    let seq = acknowledged_at_once(&mut bench, 0);
    (bench, seq)
}

/// Sends segments in pairs, until the time-out is 20 ms. Returns the next number.
fn acknowledged_at_once(bench: &mut Bench<Today>, seq: u32) -> u32 {
    for pair in 0..100 {
        bench.burst(seq + 200 * pair, 2);
        bench.wait(8).radio(&ack(seq + 200 * pair + 200));
    }
    seq + 20_000
}

/// Sends one segment whose ACK the receiver delays by `delay`, unless more data arrives sooner.
/// Returns the number of copies.
fn acknowledged_late(bench: &mut Bench<Today>, seq: u32, delay: u64) -> usize {
    bench.burst(seq, 1);
    for millis in 1..=delay {
        let copies = bench.wait(1).timer().len();
        if copies > 0 {
            if delay - millis > 8 {
                bench.wait(8).pass_ack(&ack(seq + 100).sack(&[(seq, seq + 100)]));
            } else {
                bench.wait(delay - millis).radio(&ack(seq + 100));
                bench.wait(8).pass_ack(&ack(seq + 100).sack(&[(seq, seq + 100)]));
            }
            return copies;
        }
    }
    bench.radio(&ack(seq + 100));
    0
}

/// Sends one segment that is lost. Returns the time until its copy.
fn lost(bench: &mut Bench<Today>, seq: u32) -> u64 {
    bench.burst(seq, 1);
    let waited = (1..1_000).find(|_| !bench.wait(1).timer().is_empty()).expect("it is repaired");
    bench.wait(8).radio(&ack(seq + 100));
    waited
}

#[test]
fn data_after_a_segment_with_a_delayed_ack_elicits_the_ack_and_no_copy() {
    let (mut bench, seq) = bench();
    bench.burst(seq, 1);
    assert!(bench.wait(50).timer().is_empty());
    bench.burst(seq + 100, 5);
    assert!(bench.timer().is_empty());
    assert!(bench.wait(19).timer().is_empty());
    assert_eq!(bench.wait(1).timer().len(), 1, "but it waits no longer than for any other data");
}

#[test]
fn a_receiver_with_long_delayed_acks_gets_few_needless_copies() {
    let (mut bench, seq) = bench();
    let copies: usize = (0..100).map(|nth| acknowledged_late(&mut bench, seq + nth * 100, 208)).sum();
    assert!((8..=12).contains(&copies), "{copies}");
}

#[test]
fn losses_shorten_the_wait_again() {
    let (mut bench, seq) = bench();
    assert_eq!(lost(&mut bench, seq), 60, "a delayed ACK is waited for");
    for nth in 1..=50 {
        acknowledged_late(&mut bench, seq + nth * 100, 208);
    }
    let seq = acknowledged_at_once(&mut bench, seq + 5_100);
    assert_eq!([0, 100].map(|offset| lost(&mut bench, seq + offset)), [210, 60]);
}

#[test]
fn ack_losses_as_frequent_as_data_losses_do_not_extend_the_wait() {
    let (mut bench, seq) = bench();
    for nth in 0..50 {
        let seq = seq + nth * 300;
        // Two copies of three are needless.
        assert_eq!(lost(&mut bench, seq), 60);
        for offset in [100, 200] {
            assert_eq!(acknowledged_late(&mut bench, seq + offset, 2_000), 1);
        }
    }
}
