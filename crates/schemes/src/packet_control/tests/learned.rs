//! Withholding for as long as overtaken segments are late.

use super::*;
use lasthop_agent::Transfer as _;

fn nine() -> Settings {
    Settings { threshold: 9, ..Settings::default() }
}

/// An agent that has seen a segment arrive 40 ms late.
fn on_a_hop_that_reorders() -> Bench {
    with_a_late_segment(nine())
}

fn with_a_late_segment(settings: Settings) -> Bench {
    let mut bench = Bench::started(settings);
    assert_eq!(bench.duplicates(&ack(1), 1), [true], "nothing is known yet");
    assert!(bench.wait(40).radio(&ack(3)).passed());
    bench
}

#[test]
fn without_overtaking_all_duplicates_and_blocks_pass() {
    let mut bench = Bench::started(nine());
    assert_eq!(bench.duplicates(&ack(1), 12), [true; 12]);
    assert!(bench.radio(&ack(1).reports(&[(2, 4)])).passed());
    assert_eq!(bench.agent.deadline(), None);
}

#[test]
fn a_hole_filled_by_the_sender_is_no_sign_of_overtaking() {
    let mut bench = Bench::started(nine());
    bench.wait(20).radio(&ack(2));
    bench.duplicates(&ack(2), 4);
    assert!(bench.core(&data(2)).passed());
    assert!(bench.wait(20).radio(&ack(5)).passed(), "a round trip over the hop after the repetition");
    assert_eq!(bench.duplicates(&ack(5), 4), [true; 4]);
}

#[test]
fn a_later_hole_already_filled_by_the_sender_is_no_sign_of_overtaking() {
    let mut bench = Bench::started(Settings::default());
    bench.wait(20).radio(&ack(2).reports(&[(3, 4), (5, 8)]));
    assert!(bench.core(&data(2)).passed() && bench.core(&data(4)).passed());
    assert!(bench.wait(20).radio(&ack(4).reports(&[(5, 8)])).passed());
    assert!(bench.wait(1).radio(&ack(8)).passed());
    assert_eq!(bench.duplicates(&ack(8), 3), [true; 3]);
}

#[test]
fn a_needless_retransmission_does_not_hide_overtaking() {
    let mut bench = Bench::started(nine());
    bench.wait(20).radio(&ack(2));
    bench.duplicates(&ack(2), 4);
    assert!(bench.wait(30).core(&data(2)).passed());
    assert!(bench.wait(19).radio(&ack(5)).passed(), "sooner than a round trip over the hop");
    assert_eq!(bench.duplicates(&ack(5), 3), [false, false, true]);
}

#[test]
fn duplicates_are_thinned_and_later_the_sender_gets_three() {
    let mut bench = on_a_hop_that_reorders();
    assert_eq!(bench.duplicates(&ack(3), 4), [false, false, true, false]);
    assert!(bench.wait(60).timer().is_empty(), "not before twice the lateness");
    assert_eq!(bench.wait(20).timer(), [ack(3), ack(3)]);
    assert_eq!(bench.duplicates(&ack(3), 4), [true; 4], "the sender is in recovery");
}

#[test]
fn at_most_the_received_duplicates_are_sent() {
    let mut bench = on_a_hop_that_reorders();
    assert_eq!(bench.duplicates(&ack(3), 2), [false, false]);
    assert_eq!(bench.wait(80).timer(), [ack(3), ack(3)]);
}

#[test]
fn a_hole_that_closes_in_time_is_never_reported() {
    let mut bench = on_a_hop_that_reorders();
    assert_eq!(bench.duplicates(&ack(3), 2), [false, false]);
    assert!(bench.wait(30).radio(&ack(6)).passed());
    assert!(bench.wait(1000).timer().is_empty());
}

#[test]
fn blocks_are_withheld_and_reported_together() {
    let mut bench = on_a_hop_that_reorders();
    let (step, _) = bench.pass_ack(&ack(3).reports(&[(4, 5)]));
    assert_eq!(step.verdict, Verdict::Drop(&DUPLICATE_ACK));
    let (step, _) = bench.pass_ack(&ack(3).reports(&[(4, 6)]));
    assert_eq!(step.verdict, Verdict::Drop(&DUPLICATE_ACK));
    assert_eq!(bench.wait(80).timer(), [ack(3).reports(&[(4, 6)])]);
    assert!(bench.radio(&ack(3).reports(&[(4, 7)])).passed(), "the sender is in recovery");
    assert!(bench.radio(&ack(7).reports(&[(8, 9)])).passed());
}

#[test]
fn a_new_ack_passes_at_once_without_its_blocks_and_they_follow() {
    let mut bench = on_a_hop_that_reorders();
    let (step, passed) = bench.pass_ack(&ack(5).reports(&[(6, 8)]));
    assert!(step.passed());
    assert_eq!(passed, ack(5));
    assert_eq!(bench.wait(80).timer(), [ack(5).reports(&[(6, 8)])]);
}

#[test]
fn as_many_blocks_as_the_threshold_pass() {
    let mut bench = on_a_hop_that_reorders();
    for n in 10..20 {
        bench.core(&data(n));
    }
    for n in 5..13 {
        assert_eq!(bench.pass_ack(&ack(3).reports(&[(4, n)])).0.verdict, Verdict::Drop(&DUPLICATE_ACK));
    }
    assert!(bench.radio(&ack(3).reports(&[(4, 13)])).passed(), "nine segments");
}

#[test]
fn a_report_of_a_duplicate_and_a_window_pass_at_once() {
    let mut bench = with_a_late_segment(Settings { steps_aside: false, ..nine() });
    let (step, passed) = bench.pass_ack(&ack(3).reports(&[(0, 1), (4, 6)]));
    assert!(step.passed());
    assert_eq!(passed, ack(3).reports(&[(0, 1)]));
    let (step, passed) = bench.pass_ack(&ack(3).window(5).reports(&[(4, 7)]));
    assert!(step.passed());
    assert_eq!(passed, ack(3).window(5));
    assert_eq!(bench.wait(80).timer(), [ack(3).window(5).reports(&[(4, 7)])]);
}

#[test]
fn blocks_without_room_in_later_acks_are_reported_too() {
    let mut bench = on_a_hop_that_reorders();
    for n in 10..30 {
        bench.core(&data(n));
    }
    for n in 2..7 {
        bench.pass_ack(&ack(3).reports(&[(2 * n, 2 * n + 1)]));
    }
    let released = [ack(3).reports(&[(4, 5), (6, 7), (8, 9)]), ack(3).reports(&[(10, 11), (12, 13)])];
    assert_eq!(bench.wait(80).timer(), released);
}

#[test]
fn blocks_in_excess_of_the_room_are_reported_at_once() {
    let mut bench = on_a_hop_that_reorders();
    for n in 10..30 {
        bench.core(&data(n));
    }
    for n in 2..10 {
        let (step, _) = bench.pass_ack(&ack(3).reports(&[(2 * n, 2 * n + 1)]));
        assert_eq!(step.verdict, Verdict::Drop(&DUPLICATE_ACK));
    }
    let (step, passed) = bench.pass_ack(&ack(3).reports(&[(20, 21)]));
    assert_eq!((step.verdict, step.made.len()), (Verdict::Forward, 3));
    assert_eq!(passed, ack(3).reports(&[(20, 21)]));
}

#[test]
fn withheld_acks_are_sent_when_the_agent_leaves() {
    for leave in [
        (|agent: &mut PacketControl, cx: &mut Context<'_>| agent.drain(cx))
            as fn(&mut PacketControl, &mut Context<'_>),
        |agent, cx| agent.release(key(), cx),
    ] {
        let mut bench = on_a_hop_that_reorders();
        bench.pass_ack(&ack(3).reports(&[(4, 5)]));
        assert_eq!(bench.call(leave).1, [ack(3).reports(&[(4, 5)])]);
        assert_eq!(bench.agent.deadline(), None);
    }
}

#[test]
fn a_sender_that_detects_needless_retransmissions_is_left_alone() {
    let stamps = Some(Timestamps { value: 7, echo_reply: 6 });
    let signs = [ack(3).but(|tcp| tcp.options.timestamps = stamps), ack(3).reports(&[(0, 1)])];
    for sign in signs {
        let mut bench = on_a_hop_that_reorders();
        assert!(bench.radio(&sign).passed());
        assert_eq!(bench.duplicates(&ack(3), 4), [true; 4]);
        assert!(bench.radio(&ack(3).reports(&[(4, 6)])).passed());
        assert!(bench.radio(&ack(2)).passed(), "old ACKs, too");
        let mut bench = with_a_late_segment(Settings { steps_aside: false, ..nine() });
        assert!(bench.radio(&sign).passed() || sign.tcp().is_some_and(|tcp| tcp.options.sack.is_empty()));
        assert!(bench.duplicates(&ack(3), 4).contains(&false));
    }
}
