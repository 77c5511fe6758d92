//! Packets that wait for room.

use lasthop_agent::Accounts as _;
use lasthop_agent::Transfer;
use lasthop_agent::counter::{DROPPED_HELD, DROPPED_HELD_OCTETS, FULL};
use std::num::NonZeroU16;

use super::*;

/// A bench with a new hop: its window is 20 segments.
fn bench() -> Bench<Today> {
    Bench::<Today>::with(Settings::default())
}

/// Sends segments of 100 octets. Returns how many passed.
fn offer(bench: &mut Bench<Today>, seq: u32, count: u32) -> usize {
    let segments = (0..count).map(|segment| data(seq + 100 * segment, 100));
    segments.filter(|packet| bench.pass(packet, Side::Core).passed()).count()
}

#[test]
fn packets_without_room_wait_in_order_and_leave_as_the_hop_delivers() {
    let mut bench = bench();
    assert_eq!(offer(&mut bench, 0, 30), 20);
    assert_eq!(bench.snoop.held(), 10);
    let step = bench.wait(5).radio(&ack(200));
    assert_eq!(pieces(&step.copies), [(2000, 100), (2100, 100)]);
    let step = bench.radio(&ack(2000));
    assert_eq!(pieces(&step.copies), (22..30).map(|n| (100 * n, 100)).collect::<Vec<_>>());
    assert_eq!(bench.snoop.held(), 0);
}

#[test]
fn repairs_overtake_waiting_packets_which_are_stamped_anew() {
    let mut bench = bench();
    for segment in 0..20 {
        bench.pass(&data(100 * segment, 100).stamped(50, 5), Side::Core);
    }
    assert!(bench.pass(&data(0, 100).stamped(90, 5), Side::Core).passed(), "nothing waits");
    for segment in 20..25 {
        bench.pass(&data(100 * segment, 100).stamped(50, 5), Side::Core);
    }
    bench.wait(5);
    let mut passing = ack(100).sack(&[(300, 2000)]);
    let (_, copies, _) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
    assert_eq!(pieces(&copies)[..3], [(100, 100), (200, 100), (2000, 100)]);
    assert!(copies.iter().all(|copy| tsval(copy) == Some(90)));
}

#[test]
fn a_retransmission_by_the_sender_does_not_overtake_waiting_packets() {
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    bench.wait(5).radio(&ack(0).sack(&[(100, 200)]));
    assert_eq!(bench.pass(&data(0, 100), Side::Core).verdict, Verdict::Absorb);
    let step = bench.radio(&ack(0).sack(&[(100, 2000)]));
    assert_eq!(pieces(&step.copies).last(), Some(&(0, 100)), "{step:?}");
    assert_eq!(bench.snoop.held(), 0);
}

#[test]
fn without_sack_a_retransmission_by_the_sender_overtakes_waiting_packets() {
    // The complete window may be lost on the hop without a report, and the waiting packets would
    // wait forever.
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    assert!(bench.pass(&data(0, 100), Side::Core).passed());
    assert_eq!(bench.snoop.held(), 5);
}

#[test]
fn retransmissions_are_not_dropped_as_a_congestion_signal() {
    let mut bench = Bench::<Today>::with(Settings { held_octets: 1400, ..Settings::default() });
    offer(&mut bench, 0, 25);
    let key = data(0, 1).flow_key().expect("TCP");
    let flow = bench.snoop.flows.peek_mut(key).expect("a flow");
    flow.recovery.scoreboard.sack_seen = true;
    bench.wait(5).radio(&ack(100));
    offer(&mut bench, 2000, 1);
    bench.radio(&ack(500));
    assert_eq!(bench.snoop.held(), 1, "what is sent again is first in line");
    offer(&mut bench, 2500, 20);
    let step = bench.wait(5).radio(&ack(2000));
    assert_eq!(pieces(&step.copies)[..2], [(2000, 100), (2500, 100)]);
}

#[test]
fn a_packet_that_must_not_be_stamped_passes_unchanged_at_once() {
    type Edit = fn(Packet) -> Packet;
    let edits: [Edit; 2] = [But::unknown_option, |packet| packet.flags(TcpFlags::URG)];
    for edit in edits {
        let mut bench = bench();
        for segment in 0..25 {
            bench.pass(&data(100 * segment, 100).stamped(50, 5), Side::Core);
        }
        bench.pass(&data(2500, 0).stamped(90, 5), Side::Core);
        let mut passing = edit(data(2500, 100).stamped(60, 5));
        let before = passing.clone();
        let (verdict, copies, _) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Core, cx));
        assert_eq!((verdict, passing), (Verdict::Forward, before));
        assert_eq!(pieces(&copies), (20..25).map(|n| (100 * n, 100)).collect::<Vec<_>>(), "what waited");
        assert_eq!(bench.snoop.held(), 0);
    }
}

#[test]
fn pure_acks_are_never_held_and_a_fin_keeps_its_place() {
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    assert!(bench.pass(&data(2500, 0), Side::Core).passed());
    assert_eq!(bench.pass(&data(2500, 0).flags(TcpFlags::FIN), Side::Core).verdict, Verdict::Absorb);
    let step = bench.wait(5).radio(&ack(2000));
    assert_eq!(pieces(&step.copies).last(), Some(&(2500, 0)));
}

#[test]
fn the_end_of_a_flow_sends_its_waiting_packets_first() {
    type End = fn(&mut Bench<Today>) -> Vec<Packet>;
    let ends: [End; 5] = [
        |bench| bench.pass(&data(2500, 0).flags(TcpFlags::RST), Side::Core).copies,
        |bench| bench.radio(&ack(0).flags(TcpFlags::RST)).copies,
        |bench| bench.pass(&data(9, 0).but(|tcp| tcp.flags = TcpFlags::SYN), Side::Core).copies,
        |bench| bench.pass(&data(1 << 31, 100), Side::Core).copies,
        |bench| bench.call(Transfer::drain).1,
    ];
    for end in ends {
        let mut bench = bench();
        offer(&mut bench, 0, 25);
        assert_eq!(pieces(&end(&mut bench)), (20..25).map(|n| (100 * n, 100)).collect::<Vec<_>>());
        assert_eq!(bench.snoop.held(), 0);
    }
}

#[test]
fn a_receiver_without_any_ack_gets_all_waiting_packets() {
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    let mut seen = Vec::new();
    for _ in 0..300 {
        seen.extend(pieces(&bench.wait(100).timer()));
    }
    assert!((20..25).all(|n| seen.contains(&(100 * n, 100))));
    assert_eq!((bench.snoop.held(), bench.snoop.flows.next_timer()), (0, None));
}

#[test]
fn packets_for_a_silent_receiver_are_dropped_in_the_end_and_reported() {
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    bench.wait(5).radio(&ack(100));
    assert_eq!(bench.snoop.held(), 4);
    let (mut seen, mut dropped) = (Vec::new(), 0);
    for _ in 0..300 {
        let ((), copies, reports) = bench.wait(100).call(Agent::on_deadline);
        seen.extend(pieces(&copies));
        dropped += reports.iter().filter(|report| *report.counter == DROPPED_HELD).count();
    }
    assert!(seen.iter().all(|(seq, _)| *seq < 2100), "only copies");
    assert_eq!((dropped, bench.snoop.held(), bench.in_flight()), (4, 0, 0));
    // All packets pass until it answers.
    assert_eq!(offer(&mut bench, 2500, 30), 30);
    bench.radio(&ack(5500));
    assert_eq!(offer(&mut bench, 5500, 30), 20);
}

#[test]
fn a_silent_receiver_takes_no_room_and_gets_only_retransmissions() {
    let other = |packet: Packet| packet.but(|tcp| tcp.destination_port ^= 1);
    let mut bench = bench();
    offer(&mut bench, 0, 25);
    bench.wait(5).radio(&ack(100).sack(&[(200, 300)]));
    assert!(!bench.pass(&other(data(0, 100)), Side::Core).passed(), "no room");
    let copies: Vec<Packet> = (0..5).flat_map(|_| bench.wait(50).timer()).collect();
    assert!(pieces(&copies).contains(&(0, 100)), "the other's");
    assert!(pieces(&copies).iter().all(|(seq, _)| *seq < 2200), "{copies:?}");
    let held = bench.snoop.held();
    assert!(bench.pass(&data(100, 100), Side::Core).passed(), "the sender sends it again");
    assert!(!bench.pass(&data(2500, 100), Side::Core).passed(), "new data");
    assert_eq!(bench.snoop.held(), held + 1);
    // It answers: the waiting packets leave.
    let copies = bench.wait(5).radio(&ack(2000)).copies;
    assert!(pieces(&copies).contains(&(2500, 100)), "{copies:?}");
}

#[test]
fn a_silent_connection_does_not_keep_another_to_the_same_host_from_sending() {
    let other = |packet: Packet| packet.but(|tcp| tcp.source_port ^= 1).but(|tcp| tcp.destination_port ^= 1);
    let mut bench = bench();
    assert_eq!(offer(&mut bench, 0, 19), 19);
    let mut passed = 0;
    for round in 0..100 {
        let packet = other(data(100 * round, 100));
        passed += usize::from(bench.pass(&packet, Side::Core).passed());
        bench.wait(10).timer();
        bench.radio(&other(ack(100 * round + 100)));
    }
    assert_eq!(passed, 100);
    assert_eq!(bench.pass(&other(data(10_000, 100)), Side::Core).copies, []);
    let more = (1..19).map(|n| other(data(10_000 + 100 * n, 100)));
    assert_eq!(
        more.filter(|packet| bench.pass(packet, Side::Core).passed()).count(),
        18,
        "the window is free"
    );
}

#[test]
fn a_super_packet_is_divided_to_fit() {
    let mut bench = bench();
    let mut packet = data(0, 3000);
    packet.set_segment_size(NonZeroU16::new(100));
    let step = bench.pass(&packet, Side::Core);
    assert_eq!((step.verdict, pieces(&step.copies)), (Verdict::Absorb, vec![(0, 2000)]));
    assert_eq!((step.copies[0].segments(), bench.snoop.held()), (20, 1));
    let step = bench.wait(5).radio(&ack(2000));
    assert_eq!(pieces(&step.copies), [(2000, 1000)]);
    assert_eq!((step.copies[0].segments(), bench.snoop.held()), (10, 0));
}

#[test]
fn packets_in_excess_are_dropped_and_the_sender_learns_of_it() {
    let mut bench = Bench::<Today>::with(Settings { held_octets: 1400, ..Settings::default() });
    assert_eq!(offer(&mut bench, 0, 30), 20);
    let step = bench.pass(&data(3000, 100), Side::Core);
    assert_eq!(step.verdict, Verdict::Drop(&FULL));
    bench.wait(5).radio(&ack(2000));
    bench.pass(&data(3100, 100), Side::Core);
    bench.wait(5).radio(&ack(3000));
    let truth = ack(3000).sack(&[(3100, 3200)]);
    assert!(bench.radio(&truth).passed(), "the hole is not ours");
}

#[test]
fn the_tail_of_a_super_packet_that_finds_no_room_is_reported() {
    let mut bench = Bench::<Today>::with(Settings { held_octets: 1400, ..Settings::default() });
    offer(&mut bench, 0, 20);
    let mut packet = data(2000, 3000);
    packet.set_segment_size(NonZeroU16::new(100));
    let step = bench.pass(&packet, Side::Core);
    assert_eq!((step.verdict, bench.snoop.held()), (Verdict::Absorb, 1));
    let once = Report::new(&DROPPED_HELD).at(Seq(3300)).which(FULL.about);
    let dropped = [once, Report { counter: &DROPPED_HELD_OCTETS, amount: 1700, ..once }];
    assert_eq!(step.reports, dropped, "1300 octets and their headers fit");
}

#[test]
fn without_memory_packets_pass_after_the_waiting_ones() {
    let budget = Budget { octets_per_flow: 14_000, ..Budget::default() };
    let mut bench = Bench::<Today>::within(Settings::default(), budget);
    let (mut left, mut at_bound) = (Vec::new(), 0);
    for seq in (0..60).map(|n| 100 * n) {
        let step = bench.pass(&data(seq, 100), Side::Core);
        left.extend(pieces(&step.copies));
        at_bound += step.reports.len();
        assert_ne!(step.verdict, Verdict::Drop(&FULL));
        if step.verdict == Verdict::Forward {
            left.push((seq, 100));
        }
        assert!(bench.flow().is_none_or(|flow| flow.allocated() <= 14_000));
    }
    assert!(at_bound > 0);
    left.extend(pieces(&bench.call(Transfer::drain).1));
    assert_eq!(left, (0..60).map(|n| (100 * n, 100)).collect::<Vec<_>>());
}

#[test]
fn a_sender_gets_one_congestion_signal_until_it_has_answered() {
    let mut bench = bench();
    let (mut next, mut acked) = (0, 0);
    let mut left = Vec::new();
    // The hop delivers 2 MB/s, and receives 3.
    let mut run = |bench: &mut Bench<Today>, millis: u32, rate: u32| {
        let mut signals = 0;
        for _ in 0..millis / 5 {
            bench.wait(5);
            for _ in 0..rate {
                let step = bench.pass(&data(next, 1000), Side::Core);
                signals += step.reports.iter().filter(|report| report.counter == &DROPPED_HELD).count();
                left.extend(pieces(&step.copies));
                if step.verdict == Verdict::Forward {
                    left.push((next, 1000));
                }
                next += 1000;
            }
            acked += 10_000;
            left.extend(pieces(&bench.radio(&ack(acked)).copies));
        }
        left.sort_unstable();
        (signals, left.windows(2).find(|pair| pair[0].0 + 1000 < pair[1].0).map(|pair| pair[0].0 + 1000))
    };
    // A new hop's queue has to show first.
    let (signals, hole) = run(&mut bench, 300, 15);
    assert_eq!(signals, 1);
    let hole = hole.expect("what was dropped is missing");
    assert_eq!(run(&mut bench, 100, 10).0, 0);
    bench.pass(&data(hole, 1000), Side::Core);
    assert_eq!(run(&mut bench, 95, 10).0, 0, "it takes a round trip to slow down");
    assert_eq!(run(&mut bench, 400, 10).0, 1, "the queue is as long as before");
}

#[test]
fn a_sender_that_does_not_slow_down_gets_ever_fewer_signals() {
    let mut bench = bench();
    let (mut next, mut acked, mut signals) = (0, 0, Vec::new());
    // The hop delivers 2 MB/s and receives the same, but 50% more at first. Dropped packets are
    // sent again.
    for step in 0..2_000_u32 {
        bench.wait(5);
        let mut again = Vec::new();
        for _ in 0..if step < 60 { 15 } else { 10 } {
            let came = bench.pass(&data(next, 1000), Side::Core);
            if let Some(report) = came.reports.iter().find(|report| report.counter == &DROPPED_HELD) {
                again.push(report.seq.expect("a segment").0);
                signals.push(5 * step);
            }
            next += 1000;
        }
        for seq in again {
            bench.pass(&data(seq, 1000), Side::Core);
        }
        acked += 10_000;
        bench.radio(&ack(acked));
    }
    let pauses: Vec<u32> = signals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((4..=8).contains(&signals.len()), "{signals:?}");
    assert!(pauses.windows(2).all(|pair| 2 * pair[1] >= 3 * pair[0]), "{pauses:?}");
}

// RFC 3522, section 3.2: the echo in an ACK shows which of the two arrived.
#[test]
fn a_sender_time_out_is_a_loss_only_if_no_earlier_copy_arrived() {
    for (echo, is_loss) in [(Some(5), false), (Some(900), true), (None, true)] {
        let mut bench = bench();
        let stamped = |packet: Packet, value, echo: Option<u32>| match echo {
            Some(echo) => packet.stamped(value, echo),
            None => packet,
        };
        // A run without losses: the hop is only watched.
        for round in 0..100 {
            bench.wait(5);
            let burst = (0..10).map(|n| stamped(data(1000 * round + 100 * n, 100), 5, echo.map(|_| 1)));
            assert!(burst.map(|packet| bench.core(&packet)).all(|step| step.passed()));
            bench.wait(5).radio(&stamped(ack(1000 * round + 1000), 10 * round, echo.map(|_| 5)));
        }
        bench.core(&stamped(data(100_000, 100), 5, echo.map(|_| 1)));
        for _ in 0..10 {
            bench.wait(50).timer();
        }
        bench.core(&stamped(data(100_000, 100), 900, echo.map(|_| 1)));
        bench.wait(500).radio(&stamped(ack(100_100), 2_000, echo));
        let more = (1..61).map(|n| stamped(data(100_000 + 100 * n, 100), 1_000, echo.map(|_| 1)));
        let passed = more.filter(|packet| bench.pass(packet, Side::Core).passed()).count();
        assert_eq!(passed < 60, is_loss, "{echo:?}: {passed}");
    }
}
