//! Which ACKs pass, which trigger a repair, and which are suppressed.

use super::*;
use lasthop_agent::counter::{DUPLICATE_ACKS_SUPPRESSED, LOCAL_RETRANSMITS};
use lasthop_config::preset::Presets as _;

#[test]
fn the_first_duplicate_passes_the_second_repairs_and_the_expected_ones_are_suppressed() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    assert!(bench.radio(&ack(100)).passed());
    let second = bench.two_duplicates(&ack(100));
    assert_eq!(second.repaired(), Some((100, 100)));
    assert_eq!(
        second.reports,
        [
            Report::new(&LOCAL_RETRANSMITS).at(Seq(100)).which(Cause::DuplicateAck.name()),
            Report::new(&DUPLICATE_ACKS_SUPPRESSED).at(Seq(100))
        ]
    );
    // Five packets are cached; less the two duplicates seen, three more are expected.
    for _ in 0..3 {
        let step = bench.radio(&ack(100));
        assert!(step.suppressed() && step.copies.is_empty());
    }
    assert!(bench.radio(&ack(100)).passed(), "beyond what was expected");
    assert!(bench.radio(&ack(100)).passed(), "it was retransmitted already");
    assert!(bench.radio(&ack(600)).passed() && bench.cached().is_empty());
}

#[test]
fn duplicates_after_a_recount_are_expected_again() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    bench.burst(600, 10);
    let fates: Vec<bool> = (0..6).map(|_| bench.radio(&ack(100)).suppressed()).collect();
    assert_eq!(fates, [true, true, true, false, false, true]);
}

#[test]
fn a_count_that_falls_short_repairs_twice_and_then_passes_duplicates() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    bench.radio(&ack(100));
    let second = bench.two_duplicates(&ack(100));
    let third = bench.radio(&ack(100));
    assert_eq!((second.repaired(), third.repaired()), (Some((100, 100)), Some((100, 100))));
    assert!(bench.radio(&ack(100)).passed());
}

#[test]
fn a_recount_starts_after_the_retransmission_or_at_the_front_of_a_filled_hole() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    bench.burst(300, 4);
    bench.radio(&ack(100));
    assert!(bench.two_duplicates(&ack(100)).suppressed());
    bench.core(&data(200, 100));
    let fates: String =
        (0..15).map(|_| if bench.radio(&ack(100)).suppressed() { 's' } else { 'p' }).collect();
    assert_eq!(fates, "sssppssssppsssp");
}

#[test]
fn duplicates_after_the_timer_repaired_are_counted_but_do_not_repair_again() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    bench.radio(&ack(100));
    assert_eq!(bench.wait(LONG).timer().len(), 1);
    let fates: String = (0..5).map(|_| if bench.radio(&ack(100)).suppressed() { 's' } else { 'p' }).collect();
    assert_eq!(fates, "ppssp");
}

#[test]
fn duplicates_pass_once_the_retransmission_limit_is_reached() {
    let mut bench = Bench::<Published>::with(Settings { local_retransmissions: 1, ..Settings::published() });
    bench.burst(0, 9);
    bench.radio(&ack(100));
    assert!(bench.two_duplicates(&ack(100)).suppressed());
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn a_new_ack_clears_the_expected_duplicates() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    assert!(bench.radio(&ack(300)).passed());
    assert_eq!(bench.two_duplicates(&ack(300)).repaired(), Some((300, 100)), "a second hole starts anew");
}

#[test]
fn one_duplicate_before_a_new_ack_does_not_count_towards_the_next_hole() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.radio(&ack(100));
    bench.radio(&ack(200));
    assert!(bench.radio(&ack(200)).passed());
}

#[test]
fn duplicates_of_one_connection_are_not_counted_for_another() {
    let other = |packet: Packet| packet.but(|tcp| tcp.source_port ^= 1).but(|tcp| tcp.destination_port ^= 1);
    let mut bench = Bench::new();
    bench.burst(0, 5);
    for seq in 0..5 {
        bench.core(&other(data(seq * 100, 100)));
    }
    bench.radio(&ack(100));
    bench.radio(&other(ack(100)));
    assert!(bench.radio(&ack(100)).passed() && bench.radio(&other(ack(100))).passed());
}

#[test]
fn the_papers_rule_repairs_at_the_first_duplicate() {
    let mut bench = Bench::<Published>::with(Settings { duplicates_passed: 0, ..Settings::published() });
    bench.burst(0, 5);
    bench.radio(&ack(100));
    assert_eq!(bench.radio(&ack(100)).repaired(), Some((100, 100)));
}

#[test]
fn duplicates_for_a_packet_that_was_lost_before_the_agent_pass() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 5);
    bench.radio(&ack(100));
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn duplicates_for_a_packet_that_the_sender_retransmitted_pass() {
    let mut bench = Bench::new();
    bench.burst(0, 8);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    assert!(bench.radio(&ack(100)).suppressed());
    bench.core(&data(100, 100));
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn a_sender_retransmission_that_spans_several_cached_packets_marks_them_all() {
    let mut bench = Bench::new();
    bench.burst(0, 8);
    bench.radio(&ack(100));
    bench.core(&data(100, 200));
    bench.radio(&ack(200));
    for _ in 0..4 {
        assert!(bench.radio(&ack(200)).passed());
    }
}

#[test]
fn data_that_was_acknowledged_is_not_cached_again() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    bench.radio(&ack(200));
    bench.burst(0, 2);
    assert_eq!(bench.cached(), [200]);
}

#[test]
fn a_packet_that_fills_a_hole_at_the_front_counts_as_the_senders_retransmission() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 5);
    bench.radio(&ack(100));
    bench.core(&data(100, 100));
    assert_eq!(bench.cached(), [100, 200, 300, 400, 500, 600]);
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn a_packet_that_fills_a_later_hole_is_cached_and_can_be_repaired() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    bench.burst(300, 5);
    bench.core(&data(200, 100));
    bench.radio(&ack(200));
    assert_eq!(bench.cached(), [200, 300, 400, 500, 600, 700]);
    assert_eq!(bench.two_duplicates(&ack(200)).repaired(), Some((200, 100)));
}

#[test]
fn an_old_ack_or_one_of_data_that_never_passed_changes_nothing() {
    let mut bench = Bench::new();
    bench.burst(0, 5);
    bench.radio(&ack(200));
    assert!(bench.radio(&ack(100)).passed() && bench.radio(&ack(501)).passed());
    assert_eq!(bench.cached(), [200, 300, 400]);
    assert_eq!(bench.two_duplicates(&ack(200)).repaired(), Some((200, 100)));
}

#[test]
fn an_ack_with_other_information_is_not_a_duplicate() {
    let informative: [(&str, Packet); 9] = [
        (
            "data",
            Packet::tcp_segment(
                *ack(100).ip(),
                ack(100).tcp().cloned().unwrap_or_default(),
                Payload::Stream { stream: 2, offset: 0, len: 9 },
            ),
        ),
        ("a window", ack(100).window(WINDOW + 1)),
        ("FIN", ack(100).flags(TcpFlags::FIN)),
        ("ECE", ack(100).flags(TcpFlags::ECE)),
        ("CWR", ack(100).flags(TcpFlags::CWR)),
        ("URG", ack(100).flags(TcpFlags::URG)),
        ("a closed window", ack(100).window(0)),
        ("an unknown option", ack(100).unknown_option()),
        ("duplicate data", ack(100).sack(&[(0, 100)])),
    ];
    for (what, packet) in informative {
        let mut bench = Bench::new();
        bench.burst(0, 9);
        bench.radio(&ack(100));
        for _ in 0..3 {
            bench.radio(&ack(100).window(packet.tcp().map_or(0, |tcp| tcp.window ^ 2)));
            assert!(bench.radio(&packet).passed(), "{what}");
            assert_eq!(
                bench.flow().map(|flow| flow.recovery.duplicates),
                Some(Duplicates::Passed(0)),
                "{what}"
            );
        }
    }
}

#[test]
fn an_ack_with_other_information_passes_while_duplicates_are_expected() {
    let mut bench = Bench::new();
    bench.burst(0, 20);
    bench.radio(&ack(100));
    assert!(bench.two_duplicates(&ack(100)).suppressed());
    assert!(bench.radio(&ack(100).flags(TcpFlags::ECE)).passed());
    assert!(
        bench.radio(&ack(100).sack(&[(200, 300), (200, 500)])).passed(),
        "RFC 2883 inside the second block"
    );
    assert!(bench.radio(&ack(100).sack(&[(200, 500)]).window(WINDOW + 9)).passed());
    assert!(bench.radio(&ack(100).sack(&[(200, 500)]).window(WINDOW + 9)).suppressed());
}

#[test]
fn an_ack_that_changes_the_window_and_reports_a_hole_repairs_but_passes() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.radio(&ack(100).sack(&[(200, 300)]).window(WINDOW + 1));
    let second = bench.radio(&ack(100).sack(&[(200, 400)]).window(WINDOW + 2));
    assert_eq!((second.verdict, pieces(&second.copies)), (Verdict::Forward, vec![(100, 100)]));
}
