//! Features for current TCP: repairs by SACK, withholding, super-packets.

use std::num::NonZeroU16;

use super::*;

/// A bench without a local window, in which the first overtaking segment shows a loss.
fn bench() -> Bench<Today> {
    Bench::<Today>::with(Settings { local_window: false, reordering: 0, ..Settings::default() })
}

fn super_packet(seq: u32, segments: u32) -> Packet {
    let mut packet = data(seq, 100 * segments);
    packet.set_segment_size(NonZeroU16::new(100));
    packet
}

#[test]
fn every_hole_is_repaired_at_once_and_withheld() {
    let mut bench = bench();
    bench.burst(0, 7);
    assert_eq!(bench.pass_ack(&ack(100)).0, Some(ack(100)));
    let (passed, copies) = bench.pass_ack(&ack(100).sack(&[(200, 300)]));
    assert_eq!((passed, copies), (None, vec![(100, 100)]));
    let (passed, copies) = bench.pass_ack(&ack(100).sack(&[(600, 700), (200, 300)]));
    assert_eq!((passed, copies), (None, vec![(300, 100), (400, 100), (500, 100)]));
    let (passed, copies) = bench.pass_ack(&ack(300).sack(&[(600, 700)]));
    assert_eq!(
        (passed, copies),
        (Some(ack(300)), vec![]),
        "progress passes at once, without what lies above"
    );
}

#[test]
fn a_lost_copy_is_detected_by_later_deliveries() {
    let mut bench = bench();
    bench.burst(0, 2);
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 200)])).1, [(0, 100)]);
    bench.wait(5).burst(200, 1);
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 300)])).1, [(0, 100)], "the copy left before 200");
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 300)])).1, [], "what is said again is nothing new");
}

#[test]
fn a_segment_may_be_overtaken_within_the_tolerance() {
    let mut bench =
        Bench::<Today>::with(Settings { local_window: false, reordering: 2, ..Settings::default() });
    bench.burst(0, 6);
    bench.pass_ack(&ack(0));
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 200)])), (None, vec![]), "kept back all the same");
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 300)])).1, []);
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 400)])).1, [(0, 100)]);
}

#[test]
fn only_the_missing_segments_of_a_super_packet_are_sent_as_one_packet() {
    let mut bench = bench();
    bench.core(&super_packet(0, 10).stamped(50, 5).flags(TcpFlags::FIN));
    let mut passing = ack(100).sack(&[(900, 1000), (400, 500)]);
    let (_, copies, _) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
    assert_eq!(pieces(&copies), [(100, 300), (500, 400)]);
    assert_eq!(copies.iter().map(Packet::segments).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(copies[0].payload(), &Payload::Stream { stream: 1, offset: 100, len: 300 });
    assert!(copies.iter().all(|copy| copy.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::FIN))));
    let copies = bench.pass_ack(&ack(300).sack(&[(400, 500)])).1;
    assert_eq!(copies, [(1000, 0)], "the FIN left before the copy that arrived");
    assert_eq!(
        bench.flow().map(|flow| flow.cache.len()),
        Some(1),
        "it is one buffer until all is acknowledged"
    );
    // The timer sends the first and the last missing segment.
    let copies = bench.wait(LONG).timer();
    assert_eq!(pieces(&copies), [(300, 100), (1000, 0)]);
    assert!(copies[0].segment_size().is_none());
}

#[test]
fn monotone_timestamps_apply_to_super_packets_and_can_be_disabled() {
    for (monotone_timestamps, expected) in [(true, 90), (false, 50)] {
        let settings =
            Settings { local_window: false, reordering: 0, monotone_timestamps, ..Settings::default() };
        let mut bench = Bench::<Today>::with(settings);
        bench.core(&super_packet(0, 5).stamped(50, 5));
        bench.core(&super_packet(500, 5).stamped(60, 5));
        // The sender repairs a hole of its own at a later time.
        bench.core(&data(0, 100).stamped(90, 5));
        let mut passing = ack(100).sack(&[(300, 1000)]);
        let (_, copies, _) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
        assert_eq!(pieces(&copies), [(100, 200)]);
        assert_eq!(copies.iter().map(tsval).collect::<Vec<_>>(), [Some(expected)]);
    }
}

#[test]
fn the_senders_holes_are_reported_up_to_the_agents_first() {
    let mut bench = bench();
    bench.burst(0, 1);
    bench.burst(200, 6);
    bench.pass_ack(&ack(100));
    let (passed, copies) = bench.pass_ack(&ack(100).sack(&[(500, 600), (200, 400)]));
    assert_eq!(passed, Some(ack(100).sack(&[(200, 400)])), "100 never came, 400 is ours to repair");
    assert_eq!(copies, [(400, 100)]);
    let (passed, _) = bench.pass_ack(&ack(100).sack(&[(200, 600)]));
    assert_eq!(passed, Some(ack(100).sack(&[(200, 600)])));
}

#[test]
fn a_duplicate_ack_of_the_senders_hole_passes_without_blocks() {
    let mut bench = bench();
    bench.burst(0, 1);
    bench.burst(200, 3);
    bench.pass_ack(&ack(100));
    let (passed, copies) = bench.pass_ack(&ack(100).sack(&[(300, 400)]));
    assert_eq!((passed, copies), (Some(ack(100)), vec![(200, 100)]));
}

#[test]
fn a_given_up_or_old_hole_or_one_of_the_sender_is_reported() {
    let truth = ack(0).sack(&[(100, 300)]);
    let mut bench = Bench::<Today>::with(Settings {
        local_window: false,
        reordering: 0,
        local_retransmissions: 0,
        ..Settings::default()
    });
    bench.burst(0, 3);
    assert_eq!(bench.pass_ack(&truth), (Some(truth.clone()), vec![]), "given up");

    let mut bench = self::bench();
    bench.burst(0, 3);
    bench.pass_ack(&ack(0));
    assert_eq!(bench.pass_ack(&truth).0, None);
    bench.wait(250);
    assert_eq!(bench.pass_ack(&truth).0, Some(truth.clone()), "too long");

    let mut bench = self::bench();
    bench.burst(0, 3);
    bench.pass_ack(&ack(0));
    bench.core(&data(0, 100));
    assert_eq!(bench.pass_ack(&truth).0, Some(truth), "the sender knows");
}

#[test]
fn an_ack_with_other_information_passes_without_the_blocks() {
    for informative in [ack(0).window(WINDOW + 1), ack(0).flags(TcpFlags::ECE), ack(0).flags(TcpFlags::FIN)] {
        let mut bench = bench();
        bench.burst(0, 3);
        bench.pass_ack(&ack(0));
        assert_eq!(bench.pass_ack(&informative.clone().sack(&[(100, 300)])).0, Some(informative));
    }
}

#[test]
fn an_ack_with_an_unknown_option_passes_unchanged() {
    let mut bench = bench();
    bench.burst(0, 5);
    let signed = ack(0).unknown_option().sack(&[(100, 500)]);
    let (passed, copies) = bench.pass_ack(&signed);
    assert_eq!((passed, copies), (Some(signed), vec![(0, 100)]));
}

#[test]
fn duplicate_data_is_reported_unless_a_copy_caused_it() {
    let mut bench = bench();
    bench.burst(0, 4);
    bench.pass_ack(&ack(0).sack(&[(100, 200)]));
    bench.pass_ack(&ack(400));
    assert_eq!(bench.pass_ack(&ack(400).sack(&[(0, 100)])).0, None, "our copy");
    let true_duplicate = ack(400).sack(&[(200, 300)]);
    assert_eq!(bench.pass_ack(&true_duplicate).0, Some(true_duplicate));
    bench.core(&data(0, 100));
    let undo = ack(400).sack(&[(0, 100)]);
    assert_eq!(bench.pass_ack(&undo).0, Some(undo), "the sender's own retransmission: it may undo");
}

#[test]
fn without_withholding_every_ack_passes_unchanged() {
    let mut bench =
        Bench::<Today>::with(Settings { local_window: false, withholding: false, ..Settings::default() });
    bench.burst(0, 5);
    for packet in [ack(0), ack(0).sack(&[(100, 400)]), ack(100).sack(&[(200, 400)])] {
        assert_eq!(bench.pass_ack(&packet).0, Some(packet));
    }
}

#[test]
fn without_sack_one_hole_is_repaired_after_the_other() {
    let mut bench = bench();
    bench.burst(0, 6);
    bench.pass_ack(&ack(100));
    assert_eq!(bench.pass_ack(&ack(100)), (None, vec![(100, 100)]));
    assert_eq!(bench.pass_ack(&ack(100)), (None, vec![]));
    bench.wait(20);
    assert_eq!(bench.pass_ack(&ack(300)), (Some(ack(300)), vec![(300, 100)]), "the next hole");
    bench.wait(20);
    assert_eq!(bench.pass_ack(&ack(600)), (Some(ack(600)), vec![]));
    assert!(bench.cached().is_empty() && bench.snoop.flows.next_timer().is_none());
}

#[test]
fn without_sack_data_on_a_silent_hop_is_lost_too() {
    for (expiries, repaired) in [(1, vec![]), (2, vec![(200, 100)])] {
        let mut bench = bench();
        bench.burst(0, 5);
        bench.pass_ack(&ack(100));
        for _ in 0..expiries {
            assert_eq!(pieces(&bench.wait(LONG).timer()), [(100, 100)]);
        }
        bench.wait(20);
        assert_eq!(bench.pass_ack(&ack(200)).1, repaired, "after {expiries} time-outs");
        bench.wait(20);
        let (_, copies) = bench.pass_ack(&ack(300));
        assert_eq!(copies.first(), repaired.first().map(|_| &(300, 100)), "one after the other");
    }
}

#[test]
fn needless_copies_by_the_timer_start_no_repair() {
    let mut bench = bench();
    bench.burst(0, 6);
    bench.pass_ack(&ack(100));
    assert_eq!(bench.wait(LONG).timer().len(), 1);
    bench.pass_ack(&ack(200));
    assert_eq!(bench.pass_ack(&ack(200)).1, [], "the copy's own echo");
}

#[test]
fn the_timer_probes_a_tail_with_its_last_segment() {
    let mut bench = bench();
    bench.burst(0, 2);
    bench.pass_ack(&ack(0).sack(&[(100, 200)]));
    bench.pass_ack(&ack(200));
    bench.burst(200, 5);
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(200, 100), (600, 100)]);
    bench.wait(5);
    let (passed, copies) = bench.pass_ack(&ack(300).sack(&[(600, 700)]));
    assert_eq!(passed, Some(ack(300)));
    assert_eq!(copies, [(300, 100), (400, 100), (500, 100)], "all before the last was lost");
}

#[test]
fn a_single_segment_may_be_acknowledged_late() {
    let mut bench = bench();
    for round in 0..50 {
        bench.burst(200 * round, 2);
        bench.wait(5);
        bench.pass_ack(&ack(200 * round + 200));
    }
    bench.burst(10_000, 1);
    assert!(bench.wait(59).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(10_000, 100)]);
    assert!(bench.wait(119).timer().is_empty(), "and it backs off");
    assert_eq!(bench.wait(1).timer().len(), 1);
}

#[test]
fn sacked_data_stays_until_it_is_acknowledged() {
    let mut bench = bench();
    bench.burst(0, 4);
    bench.pass_ack(&ack(0).sack(&[(100, 400)]));
    assert_eq!(bench.cached(), [0, 100, 200, 300]);
    // The receiver discards its data, and the sender starts again.
    bench.core(&data(100, 100));
    bench.pass_ack(&ack(100));
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(100, 100)]);
}

#[test]
fn a_repeated_block_proves_nothing_about_a_needless_retransmission() {
    let mut bench = bench();
    bench.burst(100, 2);
    bench.pass_ack(&ack(0).sack(&[(100, 300)]));
    bench.core(&data(0, 100));
    bench.core(&data(100, 100));
    assert_eq!(bench.pass_ack(&ack(0).sack(&[(100, 300)])).1, [], "0 is still on its way");
}

#[test]
fn the_arrival_of_repeated_data_proves_nothing_about_segments_in_between() {
    let mut bench = bench();
    bench.burst(0, 6);
    bench.pass_ack(&ack(100));
    bench.wait(5);
    // Needlessly: all are still in flight.
    bench.core(&data(100, 100));
    bench.core(&data(200, 100));
    bench.wait(5);
    assert_eq!(bench.pass_ack(&ack(200)).1, [], "the first transmission of 100");
    assert_eq!(bench.pass_ack(&ack(300)).1, []);
    assert_eq!(bench.pass_ack(&ack(600)).1, []);
}

#[test]
fn duplicates_caused_by_repairs_show_a_reordering_hop() {
    let mut bench = bench();
    bench.burst(0, 2);
    bench.wait(5);
    bench.pass_ack(&ack(200));
    let repaired = |bench: &mut Bench<Today>, seq: u32| {
        bench.burst(seq, 3);
        bench.wait(5);
        // The second overtakes the first, which arrives much later, and then its copy.
        let copies = bench.pass_ack(&ack(seq).sack(&[(seq + 100, seq + 200)])).1;
        bench.wait(5);
        bench.pass_ack(&ack(seq + 300));
        bench.pass_ack(&ack(seq + 300).sack(&[(seq, seq + 100)]));
        copies.len()
    };
    let copies: Vec<usize> = (0..20).map(|round| repaired(&mut bench, 200 + 300 * round)).collect();
    assert_eq!((copies[0], copies[19]), (1, 0), "{copies:?}");
}

#[test]
fn numbers_wrap() {
    let start = u32::MAX - 249;
    let mut bench = bench();
    bench.burst(start, 6);
    bench.pass_ack(&ack(start));
    let (passed, copies) = bench.pass_ack(&ack(start).sack(&[(start + 100, start + 200), (50, 150)]));
    assert_eq!((passed, copies), (None, vec![(start, 100), (start + 200, 100)]));
    assert_eq!(bench.pass_ack(&ack(150)).0, Some(ack(150)));
    assert_eq!(bench.cached(), [150, 250]);
}

#[test]
fn a_receiver_that_acknowledges_single_octets_gets_no_more_memory_than_data() {
    let mut bench = bench();
    bench.core(&super_packet(0, 600));
    for block in 0..20_000 {
        bench.pass_ack(&ack(0).sack(&[(3 * block + 1, 3 * block + 2)]));
    }
    let ranges = bench.flow().map(|flow| flow.recovery.scoreboard.ranges().count());
    assert!(ranges.is_some_and(|ranges| ranges < 200), "{ranges:?}");
}

#[test]
fn an_idle_flow_costs_less_than_a_kilobyte() {
    assert!(size_of::<SnoopFlow<Today>>() <= 720 && size_of::<SnoopFlow<Published>>() <= 440);
    let mut bench = bench();
    bench.burst(0, 200);
    bench.pass_ack(&ack(20_000));
    let flow = bench.flow().expect("it is known");
    assert!(flow.cache.is_empty() && flow.waiting.packets().allocated() == 0);
}
