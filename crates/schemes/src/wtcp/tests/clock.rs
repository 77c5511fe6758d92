//! The learned state of a sender's clock.

use super::*;
use crate::wtcp::clock::SenderClock;

/// A clock of this number of ticks per second, seen every 100 ms until `millis`.
fn seen(rate: u64, millis: u64) -> SenderClock {
    let mut clock = SenderClock::default();
    for at in (0..=millis).step_by(100) {
        clock.record(tick(rate, at), Instant::from_millis(at));
    }
    clock
}

fn tick(rate: u64, millis: u64) -> Seq {
    Seq(AHEAD.wrapping_add((rate * millis / 1000) as u32))
}

#[test]
fn the_clocks_in_use_are_known_after_a_second_or_eight_ticks() {
    for rate in [2, 10, 100, 1000, 1_000_000] {
        let clock = seen(rate, 10_000);
        for at in [9_000, 10_000, 12_500] {
            assert_eq!(clock.reads(Instant::from_millis(at)), Some(tick(rate, at)), "{rate} a second");
        }
    }
    assert_eq!(seen(1000, 900).reads(Instant::from_secs(1)), None, "too soon");
    assert_eq!(seen(2, 3_000).reads(Instant::from_secs(3)), None, "too few ticks");
}

#[test]
fn a_clock_with_an_unusual_rate_stays_unknown() {
    for rate in [33, 3_000, 100_000] {
        assert_eq!(seen(rate, 10_000).reads(Instant::from_secs(10)), None, "{rate} a second");
    }
}

#[test]
fn a_varying_delay_does_not_change_the_rate() {
    let mut clock = SenderClock::default();
    for at in (0..3_000_u64).step_by(10) {
        let delay = if at % 70 < 30 { 80 } else { 0 };
        clock.record(tick(1000, at), Instant::from_millis(at + delay));
    }
    let off = clock.reads(Instant::from_millis(4_000)).expect("known").offset_from(tick(1000, 4_000));
    assert!((-80..=0).contains(&off), "{off}: never ahead of the clock");
}

#[test]
fn a_distant_reading_starts_another_clock() {
    let mut clock = seen(1000, 5_000);
    clock.record(tick(1000, 5_000) + (1 << 20), Instant::from_millis(5_100));
    assert_eq!(clock.reads(Instant::from_millis(5_100)), None, "and that one is not known yet");
    for at in (5_200..=9_000).step_by(100) {
        clock.record(tick(1000, at), Instant::from_millis(at));
    }
    assert_eq!(clock.reads(Instant::from_millis(9_000)), Some(tick(1000, 9_000)), "the true one is back");
}

#[test]
fn a_clock_stays_known_across_its_wraps() {
    let mut clock = SenderClock::default();
    for second in 0..20_000 {
        clock.record(tick(1_000_000, 1000 * second), Instant::from_secs(second));
    }
    assert_eq!(clock.reads(Instant::from_secs(20_000)), Some(tick(1_000_000, 20_000_000)));
}
