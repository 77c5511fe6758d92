//! The sender's measurements.

use super::*;
use crate::wtcp::settings::HiddenTime;

/// Segment 16 leaves and is lost; after a silence of `outage`, the timer's copy arrives, and its
/// ACK, of `until`, echoes the copy's TSval. Returns the round trip that the sender measures beyond
/// the agent.
fn round_trip_after_an_outage(settings: Settings, outage: u64) -> u32 {
    let mut bench = Bench::learnt(settings);
    let sent = bench.tsval();
    bench.send(&bench.fresh(16));
    let silent_until = bench.now.as_millis() + outage;
    bench.timers_until(silent_until);
    // The next copy arrives.
    let due = bench.wtcp.deadline().expect("something is outstanding").at;
    assert!(!bench.timers_until(due.as_millis() + 1).is_empty());
    bench.wait(4);
    let echo = bench.echo(&echoing(17, sent)).expect("it passes");
    bench.tsval().wrapping_sub(echo)
}

#[test]
fn the_time_that_a_repair_took_is_hidden() {
    for outage in [50, 500, 3000] {
        for hidden_time in [HiddenTime::Repairs, HiddenTime::Residence] {
            let rtt = round_trip_after_an_outage(Settings { hidden_time, ..Settings::default() }, outage);
            assert!((4..=6).contains(&rtt), "{rtt} ms after {outage} ms");
        }
        let nothing = Settings { hidden_time: HiddenTime::Nothing, ..Settings::default() };
        assert!(u64::from(round_trip_after_an_outage(nothing, outage)) > outage);
    }
}

#[test]
fn the_wait_for_the_end_of_an_outage_is_hidden_too() {
    let mut bench = Bench::learnt(Settings::default());
    let (began, sent) = (bench.now.as_millis(), bench.tsval());
    let mut place = 16;
    while bench.core(&bench.fresh(place)).0 == Verdict::Forward {
        place += 1;
    }
    bench.timers_until(began + 400);
    let late = bench.tsval();
    assert_eq!(bench.core(&bench.fresh(place + 1)).0, Verdict::Absorb);
    bench.timers_until(began + 900);
    // All lost data is acknowledged, and the waiting data leaves and arrives.
    let (_, leaving) = bench.radio(&echoing(place, sent));
    assert_eq!(leaving, [place, place + 1]);
    bench.wait(4);
    bench.radio(&echoing(place + 1, sent));
    let echo = bench.echo(&echoing(place + 2, late)).expect("it passes");
    assert_eq!(bench.tsval().wrapping_sub(echo), 4);
}

#[test]
fn the_wait_for_the_window_is_hidden_only_as_residence() {
    for (hidden_time, expected) in [(HiddenTime::Repairs, 34), (HiddenTime::Residence, 4)] {
        let mut bench = Bench::learnt(Settings { hidden_time, ..Settings::default() });
        let sent = bench.tsval();
        let mut place = 16;
        while bench.core(&bench.fresh(place)).0 == Verdict::Forward {
            place += 1;
        }
        bench.wait(4);
        bench.radio(&echoing(place - 1, sent));
        // Only the last segment sent is outstanding: the receiver delays its ACK.
        bench.wait(26);
        let waited = bench.tsval().wrapping_sub(sent);
        assert_eq!(waited, 30);
        bench.radio(&echoing(place, sent));
        bench.wait(4);
        let echo = bench.echo(&echoing(place + 1, sent)).expect("it passes");
        let measured = bench.tsval().wrapping_sub(echo);
        if hidden_time == HiddenTime::Repairs {
            assert_eq!(measured, expected);
        } else {
            // It left with the first ACK, 4 ms in.
            assert_eq!(measured, 30, "and no more than it waited");
        }
    }
}

#[test]
fn an_echo_before_the_first_retransmission_stays_before_it() {
    let mut bench = Bench::learnt(Settings::default());
    let (began, sent) = (bench.now.as_millis(), bench.tsval());
    bench.send(&bench.fresh(16));
    bench.send(&bench.fresh(17));
    bench.timers_until(began + 250);
    let again = bench.tsval();
    assert!(matches!(bench.core(&bench.fresh(16)).0, Verdict::Drop(_)));
    bench.timers_until(began + 2_000);
    let echo = bench.echo(&echoing(18, sent)).expect("it passes");
    assert_eq!(echo, again.wrapping_sub(1), "so Linux knows that its time-out was spurious");
    bench.send(&bench.fresh(18));
    let sent = bench.tsval();
    bench.wait(4);
    assert_eq!(bench.echo(&echoing(19, sent)), Some(sent));
}

#[test]
fn nothing_is_hidden_with_an_unknown_clock_or_unknown_options() {
    let mut bench = Bench::new();
    let sent = bench.tsval();
    bench.send(&bench.fresh(0));
    bench.wait(4);
    bench.send(&bench.fresh(1));
    bench.radio(&echoing(1, sent));
    bench.timers_until(500);
    assert_eq!(
        bench.echo(&echoing(2, sent.wrapping_add(4))),
        Some(sent.wrapping_add(4)),
        "half a second is too short"
    );

    let mut bench = Bench::learnt(Settings::default());
    let sent = bench.tsval();
    bench.send(&bench.fresh(16));
    let due = bench.now.as_millis() + 500;
    bench.timers_until(due);
    let signed = echoing(17, sent).unknown_option();
    assert_eq!(bench.echo(&signed), Some(sent));
}

#[test]
fn duplicate_acks_are_withheld_and_an_old_ack_is_left_alone() {
    let mut bench = Bench::learnt(Settings::default());
    let sent = bench.tsval();
    for place in 16..20 {
        bench.send(&bench.fresh(place));
    }
    bench.wait(4);
    let (passed, copies) = bench.radio(&echoing(16, sent.wrapping_sub(1)).sack(&[(SIZE * 17, SIZE * 20)]));
    assert_eq!((passed, copies), (None, vec![16]), "the hole is repaired, and not told of");
    assert_eq!(bench.echo(&echoing(15, 3)), Some(3));
}
