//! Duplicate ACKs: those for data in a leg are answered from there, others end here.

use lasthop_agent::Side;

use super::super::bench::{Bench, fixed, mobile};

#[test]
fn a_duplicate_ack_of_data_in_a_leg_is_answered_from_there() {
    let mut bench = Bench::split();
    for number in 0..6 {
        bench.core(&fixed(1001 + 100 * number, 100, 5001));
    }
    let mut answers = Vec::new();
    for _ in 0..4 {
        let step = bench.radio(&mobile(5001, 0, 1001));
        assert!(!step.is_forwarded() && step.to(Side::Core).is_empty(), "{step:?}");
        answers.extend(step.to(Side::Radio));
    }
    answers.extend(bench.wait(10).to(Side::Radio));
    assert!(answers.iter().any(|answer| answer.starts_with("A 1001+")), "{answers:?}");
}

#[test]
fn a_duplicate_ack_of_data_in_no_leg_is_dropped() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 1501));
    for _ in 0..5 {
        let step = bench.radio(&mobile(5001, 0, 1501));
        assert!(!step.is_forwarded() && step.sent.is_empty(), "{step:?}");
        let step = bench.core(&fixed(1501, 0, 5001));
        assert!(!step.is_forwarded() && step.sent.is_empty(), "{step:?}");
    }
}
