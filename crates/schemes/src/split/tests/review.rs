//! Findings of a review.

use lasthop_agent::{Agent, Budget, Obligation, Side, Whose};
use lasthop_packet::{Ip, Packet, Payload, TcpFlags};

use super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

fn with_octets(mut packet: Packet) -> Packet {
    let octets = vec![7; packet.payload().len()];
    packet.set_payload(Payload::Bytes(octets.into()));
    packet
}

fn said(bench: &Bench) -> usize {
    bench.seat.agent.as_ref().map_or(0, Agent::octets)
}

#[test]
fn a_host_that_asks_for_segments_of_an_octet_does_not_take_more_than_the_budget() {
    let mut bench = Bench::opened_with(|syn| {
        let is_answer = syn.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::ACK));
        syn.but(|tcp| {
            tcp.options.maximum_segment_size = Some(if is_answer { 1 } else { 1460 });
            tcp.options.window_scale = Some(10);
        })
    });
    bench.core(&fixed(1001, 0, 5001));
    let (mut next, mut got, mut most, mut packets) = (1001u32, 1001u32, 0, 0u64);
    for _round in 0..14 {
        let mut sent = Vec::new();
        // As much as the budget takes.
        for _ in 0..1000 {
            if said(&bench) > Budget::default().octets_per_flow / 2 {
                break;
            }
            sent.extend(bench.core(&fixed(next, 1448, 5001).window(60_000)).sent);
            next += 1448;
        }
        sent.extend(bench.wait(5).sent);
        while !sent.is_empty() && packets < 200_000 {
            // All that is on the hop arrives after 5 ms, and every second segment is acknowledged.
            bench.wait(5);
            for (index, (_, packet)) in std::mem::take(&mut sent).into_iter().enumerate() {
                let Some(tcp) = packet.tcp().filter(|_| !packet.payload().is_empty()) else { continue };
                if packet.ip().destination != super::world::KEY.destination.0 {
                    continue;
                }
                packets += 1;
                got = got.max(tcp.seq.0 + packet.payload().len() as u32);
                if index % 2 == 1 {
                    sent.extend(bench.radio(&mobile(5001, 0, got).window(60_000)).sent);
                    most = most.max(said(&bench));
                }
            }
        }
    }
    println!(
        "taken {} delivered {} packets {packets} most {most} of {}",
        next - 1001,
        got - 1001,
        Budget::default().octets_per_flow
    );
    let amplification = packets as f64 / (f64::from(got - 1001) / 1448.0);
    assert!(amplification < 40.0, "{amplification} packets for each that came");
    assert!(most <= Budget::default().octets_per_flow);
}

#[test]
fn octets_cut_off_frames_keep_no_frames_that_are_not_counted() {
    let mut bench = Bench::split();
    let allocated = allocation_counter::measure(|| {
        for number in 0..2000 {
            bench.core(&with_octets(fixed(1001 + number, 1448, 5001)));
        }
    });
    let said = said(&bench);
    let allocated = allocated.bytes_current.max(0) as usize;
    assert!(allocated <= said + (64 << 10), "{allocated} octets allocated, {said} said");
}

#[test]
fn the_timestamp_of_a_segment_that_is_dropped_is_not_remembered() {
    for forge in [
        (|p: Packet| p.but(|tcp| tcp.flags = TcpFlags(0))) as fn(Packet) -> Packet,
        |p| p.but(|tcp| tcp.ack = tcp.ack + (1 << 29)),
        |p| p.but(|tcp| tcp.flags = TcpFlags::SYN),
    ] {
        let mut bench = Bench::opened_with(|syn| syn.stamped(1000, 0));
        bench.core(&fixed(1001, 0, 5001).stamped(1000, 1000));
        bench.core(&fixed(1001, 500, 5001).stamped(1001, 1000));
        bench.radio(&mobile(5001, 0, 1501).stamped(1001, 1001));
        // An attacker knows neither what was acknowledged nor the clock.
        bench.wait(1000);
        bench.core(&fixed(1501, 500, 5001).stamped(1002, 1000));
        bench.radio(&forge(mobile(4000, 1460, 1501)).stamped(1 << 30, 0));
        let step = bench.radio(&mobile(5001, 500, 1501).stamped(1003, 1001));
        let told: Vec<Option<u32>> = step
            .sent
            .iter()
            .filter(|(to, _)| *to == Side::Core)
            .map(|(_, p)| p.tcp().unwrap().options.timestamps.map(|t| t.value))
            .collect();
        assert_eq!(step.to(Side::Core), ["A 5001+500 ack 2001"], "{told:?}");
        assert_eq!(told, [Some(1003)]);
    }
}

#[test]
fn data_that_is_far_from_the_window_acknowledges_nothing() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    assert_eq!(bench.obligation(), Obligation::Owes(500));
    bench.radio(&mobile(5001u32.wrapping_sub(1 << 30), 1, 1501));
    assert_eq!(bench.obligation(), Obligation::Owes(500));
}

#[test]
fn after_an_idle_time_the_clock_may_have_wrapped() {
    // RFC 7323, section 5.5; a clock of microseconds (Linux 6.7) wraps in 36 minutes.
    let mut bench = Bench::opened_with(|syn| syn.stamped(1000, 0));
    bench.core(&fixed(1001, 0, 5001).stamped(1000, 1000));
    bench.core(&fixed(1001, 500, 5001).stamped(1001, 1000));
    bench.radio(&mobile(5001, 0, 1501).stamped(1001, 1001));
    bench.wait(37 * 60 * 1000);
    let later = 1001u32.wrapping_add(37 * 60 * 1_000_000);
    let step = bench.core(&fixed(1501, 500, 5001).stamped(later, 1001));
    assert_eq!(step.to(Side::Radio), ["A 1501+500 ack 5001"], "{:?}", step.to(Side::Core));
}

#[test]
fn code_points_outlast_a_sleep() {
    const EF: u8 = 46;
    const AF41: u8 = 34;
    let marked = |packet: Packet, dscp: u8| {
        let ip = Ip { traffic_class: dscp << 2, ..*packet.ip() };
        Packet::new(ip, packet.transport().clone(), packet.payload().clone())
    };
    let code_points = |step: Step, to: Side| -> Vec<u8> {
        step.sent.iter().filter(|(side, _)| *side == to).map(|(_, p)| p.ip().dscp()).collect()
    };
    let mut bench = Bench::split();
    bench.core(&marked(fixed(1001, 500, 5001), EF));
    bench.radio(&marked(mobile(5001, 500, 1501), AF41));
    bench.core(&marked(fixed(1501, 0, 5501), EF));
    bench.wait(15_000);
    let mut step = bench.core(&marked(fixed(1501, 1460, 5501), EF));
    step.sent.extend(bench.core(&marked(fixed(2961, 1460, 5501), EF)).sent);
    step.sent.extend(bench.wait(100).sent);
    let to_core = code_points(step, Side::Core);
    assert!(!to_core.is_empty() && to_core.iter().all(|dscp| *dscp == AF41), "{to_core:?}");
}

#[test]
fn code_points_are_known_from_the_handshake_on() {
    const AF41: u8 = 34;
    let mut bench = Bench::opened_with(|p| {
        let ip = Ip { traffic_class: AF41 << 2, ..*p.ip() };
        Packet::new(ip, p.transport().clone(), p.payload().clone())
    });
    let mark = |p: Packet| {
        Packet::new(Ip { traffic_class: AF41 << 2, ..*p.ip() }, p.transport().clone(), p.payload().clone())
    };
    bench.core(&mark(fixed(1001, 0, 5001)));
    let mut step = bench.core(&mark(fixed(1001, 1460, 5001)));
    step.sent.extend(bench.core(&mark(fixed(2461, 1460, 5001))).sent);
    step.sent.extend(bench.wait(100).sent);
    let to_core: Vec<u8> =
        step.sent.iter().filter(|(side, _)| *side == Side::Core).map(|(_, p)| p.ip().dscp()).collect();
    assert!(!to_core.is_empty() && to_core.iter().all(|dscp| *dscp == AF41), "{to_core:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what is measured is the time that it takes")]
fn the_state_of_many_holes_is_saved_in_time() {
    let time = |holes: u32| {
        let mut bench = Bench::opened_with(|syn| syn.but(|tcp| tcp.options.window_scale = Some(7)));
        bench.core(&fixed(1001, 0, 5001));
        let filling = std::time::Instant::now();
        for number in 0..holes {
            bench.core(&with_octets(fixed(1001 + 2 * number + 1, 1, 5001)));
        }
        let filled = filling.elapsed();
        let said = said(&bench);
        let started = std::time::Instant::now();
        let now = bench.now;
        let states = bench.seat.call(now, |agent, cx| agent.export(Whose::All, cx)).unwrap().0;
        let saved = started.elapsed();
        let started = std::time::Instant::now();
        for state in &states {
            bench.seat.call(now, |agent, cx| agent.import(state, cx)).unwrap().0.unwrap();
        }
        println!(
            "{holes} holes, {said} octets: filled in {filled:?}, saved in {saved:?}, restored in {:?}",
            started.elapsed()
        );
        saved
    };
    let (few, many) = (time(2_000), time(16_000));
    assert!(many < 24 * few, "8 times as many: {few:?}, {many:?}");
}

#[test]
fn a_sender_that_keeps_to_its_window_loses_nothing_to_the_bound_of_memory() {
    use lasthop_agent::Verdict;
    for shift in [7, 12] {
        let mut bench = Bench::opened_with(|syn| syn.but(|tcp| tcp.options.window_scale = Some(shift)));
        bench.core(&fixed(1001, 0, 5001));
        // The mobile host has fallen silent.
        let (mut next, mut edge, mut dropped) = (1001u32, 1001 + 60_000, 0);
        for _ in 0..10_000 {
            let len = (edge - next).min(1448);
            if len == 0 {
                break;
            }
            let step = bench.core(&with_octets(fixed(next, len, 5001)));
            dropped += u32::from(matches!(step.verdict, Some(Verdict::Drop(_))));
            if dropped > 0 {
                break;
            }
            next += len;
            let later = bench.wait(50);
            for (_, packet) in step.sent.iter().chain(&later.sent).filter(|(to, _)| *to == Side::Core) {
                let tcp = packet.tcp().unwrap();
                edge = edge.max(tcp.ack.0 + (u32::from(tcp.window) << shift));
            }
        }
        println!("shift {shift}: {} sent, {} octets of memory, {dropped} dropped", next - 1001, said(&bench));
        assert_eq!(dropped, 0, "with a shift of {shift}");
    }
}
