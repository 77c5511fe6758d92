//! `undo = "timestamp"`.

use lasthop_packet::Ecn;

use super::*;

fn bench() -> Bench {
    Bench::new(Settings::default())
}

#[test]
fn the_ack_of_a_repair_echoes_the_segment_that_showed_the_hole() {
    let mut bench = bench();
    let shown = bench.lose_and_repair();
    let passed = bench.ack(1500);
    assert_eq!(echo(&passed), shown);
    assert_eq!(
        passed,
        bench.ack_packet(1500).but(|tcp| {
            let stamps = tcp.options.timestamps.as_mut().expect("it has them");
            stamps.echo_reply = shown;
        }),
        "and nothing else changes"
    );
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (1, 0));
}

#[test]
fn acks_echo_it_until_the_mobile_host_has_received_one() {
    let mut bench = bench();
    let shown = bench.lose_and_repair();
    let before = bench.last_tsval;
    bench.ack(1500);
    // It was lost: the data now was sent after an older one.
    bench.last_tsval = before;
    bench.wait(1).data(15);
    bench.wait(1);
    assert_eq!(echo(&bench.ack(1500)), shown);
    bench.wait(3).data(16);
    bench.wait(1);
    let untouched = bench.ack_packet(1600);
    assert_eq!(bench.ack(1600), untouched);
}

/// Linux stops the repair of other holes when it undoes a reduction (`tcp_try_undo_partial`).
#[test]
fn nothing_is_reported_while_data_is_missing() {
    let mut bench = bench();
    // 10 and 13 are lost.
    let shown = bench.wait(5).millis as u32 - 2;
    for segment in [11, 12, 14, 15] {
        bench.data(segment);
        bench.wait(1);
    }
    bench.wait(50).data(10);
    bench.wait(50);
    let untouched = bench.ack_packet(1300);
    assert_eq!(bench.ack(1300), untouched);
    bench.wait(1).data(13);
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (0, 0));
    // The oldest timestamp of both repairs. 15 may still be acknowledged later: it is not missing.
    bench.wait(50);
    assert_eq!(echo(&bench.ack(1500)), shown);
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (1, 0));
}

#[test]
fn one_uncertain_repair_makes_the_recovery_uncertain() {
    let mut bench = bench();
    bench.wait(5);
    for segment in [11, 12, 14, 15] {
        bench.data(segment);
        bench.wait(1);
    }
    bench.wait(50).data(10);
    // It was here before: a loss after the agent.
    bench.data(12);
    bench.wait(50).ack(1300);
    bench.wait(1).data(13);
    bench.wait(50);
    let untouched = bench.ack_packet(1600);
    assert_eq!(bench.ack(1600), untouched);
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (0, 1));
}

#[test]
fn a_report_ends_when_the_next_recovery_is_partly_acknowledged() {
    let mut bench = bench();
    bench.lose_and_repair();
    let before = bench.last_tsval;
    bench.ack(1500);
    // That ACK is lost, and so are 15 and 17.
    bench.last_tsval = before;
    bench.wait(5).data(16);
    bench.data(18);
    bench.wait(50).data(15);
    bench.wait(50);
    let untouched = bench.ack_packet(1700);
    assert_eq!(bench.ack(1700), untouched);
}

#[test]
fn duplicate_acks_and_acks_below_the_repair_pass_unchanged() {
    let mut bench = bench();
    bench.lose_and_repair();
    let duplicate = bench.ack_packet(1000).sack(&[(1100, 1500)]);
    assert_eq!(bench.pass_ack(&duplicate), (duplicate.clone(), vec![]));
}

#[test]
fn after_a_loss_elsewhere_nothing_is_reported_until_all_is_acknowledged() {
    let mut bench = bench();
    bench.lose_and_repair();
    bench.data(12);
    let untouched = bench.ack_packet(1500);
    assert_eq!(bench.ack(1500), untouched);
    assert_eq!((bench.counted(&TOLD), bench.counted(&LEFT)), (0, 1));
    // The next loss is independent.
    bench.wait(5).data(16);
    bench.wait(60).data(15);
    bench.wait(50);
    assert_ne!(bench.ack_packet(1700), bench.ack(1700));
}

#[test]
fn a_hole_next_to_a_packet_with_the_maximum_wait_is_congestion() {
    let mut bench = bench();
    for (segment, waited) in [(10, 10), (11, 20), (12, 30), (13, 32)] {
        bench.wait(waited).data_late(segment, waited);
    }
    bench.wait(31).data_late(15, 31);
    bench.wait(60).data(14);
    bench.wait(50);
    let untouched = bench.ack_packet(1600);
    assert_eq!(bench.ack(1600), untouched);
    // A hole next to packets that did not wait is not.
    bench.wait(5).data(16);
    bench.wait(5).data(18);
    bench.wait(60).data(17);
    bench.wait(50);
    assert_ne!(bench.ack_packet(1900), bench.ack(1900));
}

#[test]
fn every_loss_during_a_standing_queue_is_congestion() {
    let mut bench = bench();
    let mut segment = 10;
    for _ in 0..40 {
        bench.wait(1).ack(segment * SEGMENT);
        bench.wait(12).data_late(segment, 12);
        segment += 1;
    }
    bench.wait(12).data_late(segment + 1, 12);
    bench.wait(60).data_late(segment, 12);
    bench.wait(50);
    let (number, untouched) = ((segment + 2) * SEGMENT, bench.ack_packet((segment + 2) * SEGMENT));
    assert_eq!(bench.ack(number), untouched);
}

#[test]
fn congestion_marks_are_congestion() {
    for is_echoed in [false, true] {
        let mut bench = bench();
        bench.lose_and_repair();
        if is_echoed {
            let echoing = bench.ack_packet(1000).but(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE));
            assert_eq!(bench.pass_ack(&echoing).0, echoing);
        } else {
            let mut marked = data(15, bench.millis as u32 - 2, bench.last_tsval);
            marked.set_ecn(Ecn::Ce);
            bench.pass(&marked, Side::Radio);
        }
        let untouched = bench.ack_packet(1500);
        assert_eq!(bench.ack(1500), untouched, "{is_echoed}");
    }
}

#[test]
fn without_a_measurement_nothing_is_reported() {
    let mut bench = Bench::unmeasured(Settings::default());
    bench.last_tsval = 1;
    for segment in [0, 2, 3, 1] {
        bench.wait(2).data(segment);
    }
    let untouched = bench.ack_packet(400);
    assert_eq!(bench.ack(400), untouched);
}

#[test]
fn a_clock_with_other_ticks_gives_no_delays() {
    let mut bench = Bench::unmeasured(Settings::default());
    // 10 ms each.
    let send = |bench: &mut Bench, segment| {
        let packet = data(segment, bench.millis as u32 / 10, bench.last_tsval);
        bench.pass(&packet, Side::Radio);
    };
    for segment in 0..20 {
        send(bench.wait(40), segment);
        bench.wait(2).ack(SEGMENT * (segment + 1));
    }
    send(bench.wait(5), 21);
    send(bench.wait(60), 20);
    bench.wait(50);
    let untouched = bench.ack_packet(2200);
    assert_eq!(bench.ack(2200), untouched);
}

#[test]
fn successive_recoveries_echo_a_timestamp_older_than_both() {
    let mut bench = bench();
    let shown = bench.lose_and_repair();
    // 15 is lost, too, and retransmitted before 10 is acknowledged.
    bench.data(16);
    bench.wait(1).data(15);
    assert_eq!(echo(&bench.ack(1500)), shown);
    bench.wait(4).data(17);
    bench.wait(50);
    assert_eq!(echo(&bench.ack(1800)), shown);
}

#[test]
fn signed_segments_pass_unchanged() {
    let mut bench = bench();
    bench.lose_and_repair();
    let signed = bench.ack_packet(1500).unknown_option();
    assert_eq!(bench.pass_ack(&signed), (signed.clone(), vec![]));
}
