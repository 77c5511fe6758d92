//! TSval stays monotone towards the receiver; otherwise PAWS would reject the copies.

use lasthop_packet::wire;

use super::*;

#[test]
fn a_copy_is_the_original_with_the_highest_tsval_sent() {
    let mut bench = Bench::new();
    for (seq, value) in [(0, 50), (100, 51), (200, 52), (300, 53), (400, 54)] {
        bench.core(&data(seq, 100).stamped(value, 5));
    }
    bench.radio(&ack(100).stamped(9, 5));
    // The sender retransmits the hole at a later time: the receiver's TS.Recent is 90 from then on.
    bench.core(&data(100, 100).stamped(90, 5));
    bench.radio(&ack(200).stamped(9, 5));
    let step = bench.two_duplicates(&ack(200).stamped(9, 5));
    assert_eq!(step.copies, [data(200, 100).stamped(90, 5)]);
}

#[test]
fn tsval_stays_monotone_across_its_wrap() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(u32::MAX - 1, 5));
    bench.core(&data(100, 100).stamped(u32::MAX, 5));
    bench.core(&data(200, 100).stamped(3, 5));
    let copies = bench.wait(LONG).timer();
    assert_eq!(copies.iter().map(tsval).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn the_tsval_of_a_pure_ack_from_the_sender_counts_too() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(50, 5));
    bench.core(&data(100, 0).stamped(60, 5));
    assert_eq!(bench.wait(LONG).timer(), [data(0, 100).stamped(60, 5)]);
}

#[test]
fn a_tsval_from_outside_the_window_is_ignored() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(50, 5));
    bench.core(&data(100_000, 100).stamped(1_000_000, 5));
    bench.core(&data(200_000, 0).stamped(1_000_000, 5));
    assert_eq!(bench.wait(LONG).timer(), [data(0, 100).stamped(50, 5)]);
}

#[test]
fn a_copy_that_needs_no_new_tsval_leaves_verbatim() {
    let mut bench = Bench::new();
    let packet = data(0, 100).flags(TcpFlags::PSH).stamped(50, 5);
    bench.core(&packet);
    assert_eq!(bench.wait(LONG).timer(), [packet]);
    let plain = data(100, 100);
    bench.core(&plain);
    bench.radio(&ack(100));
    assert_eq!(bench.wait(LONG).timer(), [plain]);
}

#[test]
fn on_the_wire_a_copy_differs_at_most_in_tsval_and_checksum() {
    let real = |packet: Packet| wire::parse(wire::emit(&packet)).expect("our own packet parses");
    let mut bench = Bench::new();
    let packet = real(data(0, 100).stamped(50, 5));
    bench.core(&packet);
    let copies = bench.wait(LONG).timer();
    assert_eq!(copies.iter().map(Packet::original).collect::<Vec<_>>(), [packet.original()]);
    bench.core(&real(data(100, 0).stamped(60, 5)));
    let copies = bench.wait(LONG).timer();
    assert_eq!(copies.iter().map(wire::emit).collect::<Vec<_>>(), [wire::emit(&data(0, 100).stamped(60, 5))]);
}

// RFC 3522, section 3.2. Copies have the TSval of the latest original.
#[test]
fn an_ack_after_a_silence_triggers_repairs_only_if_it_echoes_a_copy() {
    for (echo, expected) in [(5, vec![]), (80, vec![(100, 100)])] {
        let mut bench = Bench::<Today>::with(Settings::default());
        for n in 0..5 {
            bench.core(&data(100 * n, 100).stamped(5, 1));
        }
        bench.wait(20).core(&data(500, 100).stamped(80, 1));
        for _ in 0..6 {
            bench.wait(200).timer();
        }
        let (passed, copies) = bench.pass_ack(&ack(100).stamped(2_000, echo));
        assert_eq!((passed.is_some(), copies), (true, expected), "{echo}");
    }
}
