//! The real cost of memory, for any segmentation by the hosts.

use lasthop_agent::{Accounts, Budget, Side, Verdict};
use lasthop_packet::{Packet, Payload, TcpFlags};

use super::bench::{Bench, fixed, mobile};
use crate::edits::But as _;

fn with_octets(mut packet: Packet) -> Packet {
    let octets = vec![7; packet.payload().len()];
    packet.set_payload(Payload::Bytes(octets.into()));
    packet
}

fn reported(bench: &Bench) -> usize {
    bench.seat.agent.as_ref().map_or(0, Accounts::octets)
}

#[test]
fn a_host_with_one_octet_segments_stays_within_the_budget() {
    let mut bench = Bench::opened_with(|syn| {
        let is_answer = syn.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::ACK));
        syn.but(|tcp| {
            tcp.options.maximum_segment_size = Some(if is_answer { 1 } else { 1460 });
            tcp.options.window_scale = Some(10);
        })
    });
    bench.core(&fixed(1001, 0, 5001));
    let (mut next, mut got, mut max, mut packets) = (1001u32, 1001u32, 0, 0u64);
    for _round in 0..14 {
        let mut sent = Vec::new();
        // As much as the budget allows.
        for _ in 0..1000 {
            if reported(&bench) > Budget::default().octets_per_flow / 2 {
                break;
            }
            sent.extend(bench.core(&fixed(next, 1448, 5001).window(60_000)).sent);
            next += 1448;
        }
        sent.extend(bench.wait(5).sent);
        while !sent.is_empty() && packets < 200_000 {
            // All data on the hop arrives after 5 ms, and every second segment is acknowledged.
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
                    max = max.max(reported(&bench));
                }
            }
        }
    }
    let amplification = packets as f64 / (f64::from(got - 1001) / 1448.0);
    assert!(amplification < 40.0, "{amplification} packets for each that came");
    assert!(max <= Budget::default().octets_per_flow);
}

#[test]
fn octets_of_partly_removed_frames_keep_no_uncounted_frames() {
    let mut bench = Bench::split();
    let allocated = allocation_counter::measure(|| {
        for number in 0..2000 {
            bench.core(&with_octets(fixed(1001 + number, 1448, 5001)));
        }
    });
    let reported = reported(&bench);
    let allocated = allocated.bytes_current.max(0) as usize;
    assert!(allocated <= reported + (64 << 10), "{allocated} octets allocated, {reported} reported");
}

#[test]
fn a_sender_within_its_window_loses_nothing_to_the_memory_bound() {
    const SHIFT: u8 = 7;
    let mut bench = Bench::opened_with(|syn| syn.but(|tcp| tcp.options.window_scale = Some(SHIFT)));
    bench.core(&fixed(1001, 0, 5001));
    // The mobile host has become silent.
    let (mut next, mut edge) = (1001u32, 1001 + 60_000);
    for _ in 0..10_000 {
        let len = (edge - next).min(1448);
        if len == 0 {
            return;
        }
        let step = bench.core(&with_octets(fixed(next, len, 5001)));
        assert!(!matches!(step.verdict, Some(Verdict::Drop(_))), "{} octets were sent", next - 1001);
        next += len;
        let later = bench.wait(50);
        let to_core = step.sent.iter().chain(&later.sent).filter(|(to, _)| *to == Side::Core);
        for tcp in to_core.filter_map(|(_, packet)| packet.tcp()) {
            edge = edge.max(tcp.ack.0 + (u32::from(tcp.window) << SHIFT));
        }
    }
    panic!("its window never closes");
}
