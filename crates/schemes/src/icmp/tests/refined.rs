//! The sender of Refined ICMP (thesis, section 5.5.2).

use super::*;

fn benches() -> impl Iterator<Item = Bench> {
    both_versions().into_iter().map(|hosts| Bench::new(hosts, Some(Box::new(RefinedSender::default()))))
}

/// Rule 1.
#[test]
fn defer_postpones_the_timer_only_for_its_segment_and_sets_no_mark() {
    for mut bench in benches() {
        bench.at(200).message(Message::Defer, 1);
        assert_eq!(bench.timer(), 1000);
        bench.at(300).message(Message::Defer, 0);
        assert_eq!(bench.timer(), 1300);
        assert_eq!(bench.expire(), [0]);
        assert_eq!(bench.window(), (1, 4), "a time-out like any other");
    }
}

/// Rule 2.
#[test]
fn retransmit_sends_the_segment_at_once_and_keeps_the_window() {
    for mut bench in benches() {
        assert_eq!(bench.at(200).message(Message::Retransmit, 2), [2]);
        assert_eq!(bench.window(), (8, 4));
        assert_eq!(bench.timer(), 1000, "the timer runs for segment 0");
        assert_eq!(bench.at(300).message(Message::Retransmit, 0), [0]);
        assert_eq!(bench.timer(), 1300);
        assert_eq!(bench.at(400).message(Message::Retransmit, 0), [0], "the second copy is given up, too");
        assert_eq!(bench.tcp.stats().scheme_retransmits, 3);
    }
}

/// Rule 3.
#[test]
fn the_first_duplicate_ack_enters_recovery_and_the_next_new_ack_restores_cwnd() {
    for mut bench in benches() {
        bench.at(200).message(Message::Retransmit, 0);
        assert_eq!(bench.ack(0), [8], "cwnd grows by one segment");
        assert_eq!(bench.window(), (9, 4));
        assert_eq!(bench.ack(0), [9]);
        assert_eq!(bench.ack(0), [10], "the third retransmits nothing");
        assert_eq!(bench.ack(0), [11]);
        bench.ack(12);
        assert_eq!(bench.window(), (8, 4));
        let stats = bench.tcp.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmits), (0, 0, 1));
    }
}

#[test]
fn several_losses_in_a_window_are_recovered_one_after_the_other() {
    for mut bench in benches() {
        assert_eq!(bench.at(200).message(Message::Retransmit, 0), [0]);
        assert_eq!(bench.at(210).message(Message::Retransmit, 1), [1]);
        assert_eq!(bench.at(220).message(Message::Retransmit, 5), [5]);
        for (lost, next) in [(0, 1), (1, 5), (5, 12)] {
            assert_eq!(bench.window(), (8, 4));
            (0..3).for_each(|_| drop(bench.ack(lost)));
            assert_eq!(bench.window(), (11, 4));
            bench.ack(next);
        }
        assert_eq!(bench.window(), (8, 4));
        assert_eq!((bench.tcp.stats().timeouts, bench.tcp.stats().fast_retransmits), (0, 0));
    }
}

#[test]
fn entering_recovery_consumes_the_mark() {
    for mut bench in benches() {
        bench.at(200).message(Message::Retransmit, 0);
        bench.ack(0);
        bench.expire();
        assert_eq!(bench.window().0, 1, "rule 4: a time-out is TCP's own");
        assert!(bench.at(2500).ack(0).is_empty());
        assert_eq!(bench.window().0, 1, "a duplicate ACK is only counted");
    }
}

/// Rule 4.
#[test]
fn a_time_out_clears_the_retransmitted_marks() {
    for mut bench in benches() {
        bench.at(200).message(Message::Retransmit, 0);
        assert_eq!(bench.expire(), [0]);
        assert_eq!(bench.window(), (1, 4));
        bench.ack(0);
        assert_eq!(bench.window(), (1, 4));
    }
}

/// Rule 5.
#[test]
fn duplicate_acks_for_another_segment_are_signs_of_congestion() {
    for mut bench in benches() {
        bench.at(200).message(Message::Retransmit, 3);
        assert!(bench.ack(0).is_empty());
        assert!(bench.ack(0).is_empty());
        assert_eq!(bench.ack(0), [0]);
        assert_eq!(bench.window(), (7, 4));
        bench.ack(1);
        assert_eq!(bench.window(), (4, 4));
    }
}

#[test]
fn a_message_about_an_acknowledged_segment_is_ignored() {
    for mut bench in benches() {
        bench.at(200).ack(1);
        assert!(bench.message(Message::Retransmit, 0).is_empty());
    }
}
