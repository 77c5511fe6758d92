use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn figures(punctuality: &Punctuality) -> (u64, f64, f64) {
    let report = punctuality.report(at(1000));
    (report.stalls, report.stalled_s, report.longest_absence_s)
}

#[test]
fn a_turn_that_begins_when_it_is_due_is_no_absence() {
    let mut punctuality = Punctuality::new(at(0), true);
    punctuality.turn(at(0), at(0), at(1));
    punctuality.wait(None);
    punctuality.turn(at(21), at(21), at(22));
    punctuality.wait(Some(at(25)));
    punctuality.turn(at(25), at(25), at(26));
    // A frame ends the wait.
    punctuality.wait(Some(at(500)));
    punctuality.turn(at(30), at(30), at(31));
    // A deadline that has already passed.
    punctuality.wait(Some(at(3)));
    punctuality.turn(at(31), at(31), at(32));
    assert_eq!(figures(&punctuality), (0, 0.0, 0.001));
}

#[test]
fn the_absence_of_a_late_turn_begins_when_the_turn_was_due() {
    let mut punctuality = Punctuality::new(at(0), true);
    punctuality.turn(at(0), at(0), at(0));
    punctuality.wait(None);
    punctuality.turn(at(70), at(70), at(70));
    assert_eq!(figures(&punctuality), (1, 0.05, 0.05));
    punctuality.wait(Some(at(75)));
    punctuality.turn(at(84), at(84), at(84));
    assert_eq!(figures(&punctuality), (1, 0.05, 0.05), "9 ms are no stall");
    punctuality.wait(Some(at(85)));
    punctuality.turn(at(115), at(115), at(115));
    assert_eq!(figures(&punctuality), (2, 0.08, 0.05));
}

#[test]
fn a_long_turn_and_a_delay_between_turns_are_absences() {
    let mut punctuality = Punctuality::new(at(0), true);
    punctuality.turn(at(0), at(0), at(15));
    assert_eq!(figures(&punctuality), (1, 0.015, 0.015));
    // No wait was requested.
    punctuality.turn(at(27), at(27), at(30));
    assert_eq!(figures(&punctuality), (2, 0.03, 0.015));
    // The turn begins early and takes long.
    punctuality.wait(None);
    punctuality.turn(at(31), at(31), at(47));
    assert_eq!(figures(&punctuality), (3, 0.046, 0.016));
}

#[test]
fn a_loop_that_misses_its_heartbeats_in_a_turn_steps_out_after_it() {
    let mut punctuality = Punctuality::new(at(0), true);
    assert!(punctuality.is_in(at(0), true));
    punctuality.turn(at(0), at(0), at(59));
    assert!(punctuality.is_in(at(59), true), "a heartbeat was not missed");
    punctuality.turn(at(59), at(110), at(160));
    assert!(punctuality.is_in(at(160), true), "a long turn, in the midst of which it beat");
    punctuality.turn(at(160), at(160), at(220));
    assert!(!punctuality.is_in(at(220), true));
    assert_eq!(punctuality.why_out(), Some(Why::Late(Duration::from_millis(60))));
    let mut punctuality = Punctuality::new(at(0), true);
    punctuality.turn(at(0), at(0), at(40));
    punctuality.wait(None);
    assert!(!punctuality.is_in(at(80), true), "40 ms of a turn, and 20 ms late after the wait");
}

#[test]
fn the_report_includes_the_time_that_the_thread_was_kept_waiting() {
    let punctuality = Punctuality::new(at(0), true);
    std::thread::park_timeout(Duration::from_millis(1));
    let waited = punctuality.report(at(1)).kept_waiting;
    assert!(waited.is_none_or(|waited| waited.times > 0 && waited.mean_s() <= waited.total_s), "{waited:?}");
}
