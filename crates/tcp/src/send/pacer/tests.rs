use super::*;

const fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A pacer that has sent its first segments, at 1 MB/s: 1000 octets take 1 ms.
fn settled(now: Instant) -> Pacer {
    let mut pacer = Pacer::default();
    for _ in 0..UNPACED - 1 {
        assert!(!pacer.holds(now, || 2));
        pacer.on_sent(1000, now, 1_000_000);
    }
    pacer
}

#[test]
fn the_first_nine_segments_are_not_paced() {
    let mut pacer = settled(at(5000));
    assert!(!pacer.holds(at(5000), || 2));
    pacer.on_sent(1000, at(5000), 1_000_000);
    pacer.left = 0;
    assert!(pacer.holds(at(5999), || 2));
    assert!(!pacer.holds(at(6000), || 2));
}

#[test]
fn a_burst_is_sent_at_once_and_the_next_one_when_the_rate_allows_it() {
    let mut pacer = settled(at(0));
    pacer.left = 0;
    for start in [0, 3000, 6000] {
        for _ in 0..3 {
            assert!(!pacer.holds(at(start), || 3));
            pacer.on_sent(1000, at(start), 1_000_000);
        }
        assert!(pacer.holds(at(start), || 3));
        assert_eq!(pacer.next, at(start + 3000));
    }
}

#[test]
fn lateness_is_made_up_for_by_half_of_the_time_of_a_burst() {
    let mut pacer = settled(at(0));
    pacer.left = 0;
    let mut send = |now: u64| {
        for _ in 0..2 {
            assert!(!pacer.holds(at(now), || 2));
            pacer.on_sent(1000, at(now), 1_000_000);
        }
        pacer.next
    };
    assert_eq!(send(0), at(2000));
    assert_eq!(send(2300), at(4000), "0.3 ms late: no drift");
    assert_eq!(send(9000), at(10_000), "5 ms late: twice the rate");
    assert_eq!(send(10_000), at(12_000), "and that is all");
}

#[test]
fn a_pacer_keeps_to_its_rate_however_late_its_timer_is() {
    let mut pacer = settled(at(0));
    let mut sent = 0;
    for step in 0..10_000u64 {
        let now = at(step * 700);
        while !pacer.holds(now, || 2) {
            pacer.on_sent(1000, now, 1_000_000);
            sent += 1000;
        }
    }
    assert!((6_990_000..=7_010_000).contains(&sent), "{sent} in 7 s");
}
