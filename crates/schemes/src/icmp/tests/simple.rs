//! The sender of Simple ICMP (thesis, section 5.4.1).

use super::*;

fn benches() -> impl Iterator<Item = Bench> {
    both_versions().into_iter().map(|hosts| Bench::new(hosts, Some(Box::new(SimpleSender::default()))))
}

#[test]
fn defer_postpones_the_timer_only_if_it_runs_for_that_segment() {
    for mut bench in benches() {
        assert!(bench.at(200).message(Message::Defer, 1).is_empty());
        assert_eq!(bench.timer(), 1000);
        assert!(bench.at(300).message(Message::Defer, 0).is_empty());
        assert_eq!(bench.timer(), 1300, "one RTO after the message");
    }
}

#[test]
fn a_time_out_of_a_deferred_segment_keeps_window_and_rto() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 0);
        assert_eq!(bench.expire(), [0], "that segment alone");
        assert_eq!(bench.window(), (8, 4));
        assert_eq!(bench.timer(), 2300, "no back-off");
    }
}

#[test]
fn a_time_out_without_a_reduction_consumes_the_mark() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 0);
        bench.expire();
        assert_eq!(bench.expire(), [0]);
        assert_eq!(bench.window(), (1, 4), "the second is TCP's own");
        assert_eq!(bench.timer(), 4300, "and backs off");
    }
}

#[test]
fn a_mark_is_remembered_until_the_timer_runs_for_its_segment() {
    for mut bench in benches() {
        bench.at(100).message(Message::Defer, 1);
        assert_eq!(bench.at(200).ack(1).len(), 1);
        assert_eq!(bench.timer(), 1200);
        let (cwnd, _) = bench.window();
        assert_eq!(bench.expire(), [1]);
        assert_eq!(bench.window(), (cwnd, 4));
    }
}

#[test]
fn a_fast_retransmit_of_a_deferred_segment_keeps_ssthresh_and_cwnd() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 0);
        assert!(bench.at(400).ack(0).is_empty());
        assert!(bench.ack(0).is_empty());
        assert_eq!(bench.ack(0), [0]);
        assert_eq!(bench.window(), (7, 4), "ssthresh + 3 segments");
        assert!(bench.ack(0).is_empty());
        assert_eq!(bench.ack(0), [8], "each further duplicate ACK inflates by one");
        assert_eq!(bench.window(), (9, 4));
        bench.ack(8);
        assert_eq!(bench.window(), (8, 4));
        assert_eq!(bench.tcp.stats().fast_retransmits, 1);
    }
}

#[test]
fn a_fast_retransmit_without_a_reduction_consumes_the_mark() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 0);
        (0..3).for_each(|_| drop(bench.ack(0)));
        bench.expire();
        assert_eq!(bench.window().0, 1);
    }
}

#[test]
fn a_segment_that_was_not_deferred_is_lost_to_congestion() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 3);
        bench.ack(0);
        bench.ack(0);
        assert_eq!(bench.ack(0), [0]);
        bench.ack(1);
        assert_eq!(bench.window(), (4, 4), "half of the flight");
        bench.expire();
        assert_eq!(bench.window().0, 1);
    }
}

#[test]
fn a_standard_time_out_clears_the_deferred_marks() {
    for mut bench in benches() {
        bench.at(300).message(Message::Defer, 1);
        assert_eq!(bench.expire(), [0]);
        assert_eq!(bench.ack(1), [1, 2], "everything is sent again");
        bench.expire();
        assert_eq!(bench.window().0, 1, "the mark was of an earlier transmission");
    }
}

#[test]
fn a_message_of_the_other_scheme_changes_nothing() {
    for mut bench in benches() {
        assert!(bench.at(300).message(Message::Retransmit, 0).is_empty());
        bench.expire();
        assert_eq!(bench.window().0, 1);
    }
}
