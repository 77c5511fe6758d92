//! When the local timer runs and what it retransmits.

use super::*;
use lasthop_agent::Transfer;
use lasthop_config::preset::Presets as _;

#[test]
fn the_timer_repairs_at_most_ten_times() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    assert_eq!(
        bench.snoop.deadline().map(|deadline| deadline.at),
        Some(bench.now + Duration::from_millis(1100))
    );
    let mut copies = 0;
    for _ in 0..20 {
        copies += bench.wait(LONG).timer().len();
        assert!(bench.timer().is_empty(), "a repeated call is harmless");
    }
    assert_eq!(copies, 10);
    assert_eq!(bench.snoop.flows.next_timer(), None);
}

#[test]
fn the_timer_waits_srtt_and_four_deviations_but_not_less_than_the_minimum() {
    let mut bench = Bench::new();
    for segment in 0..100 {
        bench.burst(100 * segment, 1);
        bench.wait(10).radio(&ack(100 * segment + 100));
    }
    bench.burst(10_000, 1);
    assert!(bench.wait(99).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(10_000, 100)]);
}

#[test]
fn a_new_ack_and_a_sender_retransmission_restart_the_timer_and_new_data_does_not() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    let due = |bench: &Bench<Published>| bench.snoop.flows.next_timer().map_or(0, Instant::as_millis);
    let start = due(&bench);
    bench.wait(10).burst(300, 1);
    assert_eq!(due(&bench), start);
    bench.core(&data(0, 100));
    assert_eq!(due(&bench), start + 10);
    bench.wait(10).radio(&ack(100));
    assert_eq!(due(&bench), start + 20, "the covered packet left twice and so measured nothing");
    bench.radio(&ack(400));
    assert_eq!(bench.snoop.flows.next_timer(), None);
}

#[test]
fn only_packets_sent_once_give_a_round_trip_time() {
    let mut bench = Bench::new();
    let timeout = |bench: &Bench<Published>| bench.flow().map(|flow| flow.timeout(&Settings::published()));
    bench.burst(0, 6);
    let untouched = timeout(&bench);
    bench.wait(5).core(&data(0, 100));
    bench.wait(5).radio(&ack(100));
    assert_eq!(timeout(&bench), untouched, "the sender's retransmission");
    bench.two_duplicates(&ack(100));
    bench.wait(5).radio(&ack(300));
    assert_eq!(timeout(&bench), untouched, "a local retransmission among what is acknowledged");
    bench.burst(700, 1);
    bench.wait(5).burst(600, 1);
    bench.radio(&ack(800));
    assert_eq!(timeout(&bench), untouched, "what may have left before, uncached");
    bench.burst(800, 1);
    bench.wait(5).radio(&ack(900));
    assert_ne!(timeout(&bench), untouched);
}

#[test]
fn the_timer_repairs_only_the_segment_that_the_receiver_waits_for() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 2);
    bench.radio(&ack(100));
    assert!(bench.wait(LONG).timer().is_empty(), "the packet at 100 never came");
}

#[test]
fn the_timer_does_not_retransmit_into_a_closed_window() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    bench.radio(&ack(100).window(0));
    assert!(bench.wait(LONG).timer().is_empty());
    assert!(bench.radio(&ack(100)).passed(), "a window update");
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(100, 100)]);
}

#[test]
fn a_sender_retransmission_allows_ten_more_copies() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    let round = |bench: &mut Bench<Published>| (0..12).map(|_| bench.wait(LONG).timer().len()).sum::<usize>();
    assert_eq!(round(&mut bench), 10);
    bench.core(&data(0, 100));
    assert_eq!(round(&mut bench), 10);
}

#[test]
fn timers_restart_without_round_trips_after_packets_passed_unseen() {
    timers_restart(Bench::new());
    timers_restart(Bench::<Today>::with(Settings::default()));
}

fn timers_restart<R: Recovery>(mut bench: Bench<R>) {
    bench.pass(&data(0, 100), Side::Core);
    bench.wait(5).radio(&ack(100));
    bench.pass(&data(100, 100), Side::Core);
    let timeout = bench.flow().expect("it is known").timeout(&bench.snoop.settings);
    // Its acknowledgment bypassed the agent.
    bench.now += 10 * timeout;
    bench.call(Transfer::on_return);
    assert!(bench.timer().is_empty(), "the next acknowledgment tells");
    let known = bench.flow().expect("it is known").rtt.min();
    bench.pass(&data(200, 100), Side::Core);
    bench.wait(5).radio(&ack(300));
    let flow = bench.flow().expect("it is known");
    assert_eq!((flow.timeout(&bench.snoop.settings) <= timeout, flow.rtt.min()), (true, known));

    bench.pass(&data(300, 100), Side::Core);
    bench.now += 10 * timeout;
    bench.call(Transfer::on_return);
    bench.now += 10 * timeout;
    assert!(!bench.timer().is_empty(), "if none comes");
}
