//! Links that deliver packets twice, or with a wrong bit.

use std::time::Duration;

use lasthop_apps::traffic::{Beat, Constant};
use lasthop_packet::wire::emit;
use lasthop_packet::{Instant, Packet, Transport};
use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{
    Application, Direction, DropCause, Faults, FlowConfig, LinkId, LinkLayer, NodeId, NodeKind,
    TransportOutcome, World,
};

use crate::support::{arrived, direction, flow, ms, node, packet, percent, udp_flow, wired, wireless};

fn faulty(duplicate: f64, corrupt: f64) -> Faults {
    Faults { duplicate: percent(duplicate), corrupt: percent(corrupt) }
}

/// Two nodes of this kind joined by a wired or a wireless link with 1 ms of propagation.
fn pair(kind: NodeKind, direction: &Direction, is_wired: bool) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, kind));
    let link = if is_wired {
        world.add_wired_link(ends[0], ends[1], &wired("wire", direction, 1))
    } else {
        world.add_wireless_link(ends[0], ends[1], &wireless("air", direction, LinkLayer::UNRELIABLE))
    };
    (world, ends, link)
}

/// Packets numbered from 0 that cross such a link at once, with what arrives.
fn cross(faults: Faults, is_wired: bool, count: u32) -> (World, [NodeId; 2], Vec<(Instant, Packet)>) {
    let way = Direction { faults, ..direction(1_000_000) };
    let (mut world, [from, to], _) = pair(NodeKind::External, &way, is_wired);
    for number in 0..count {
        world.inject(from, packet(&world, from, to, number));
    }
    world.advance_to(Instant::from_secs(10));
    let arrivals = world.collect(to);
    (world, [from, to], arrivals)
}

#[test]
fn the_share_that_is_duplicated_arrives_twice_and_at_once() {
    for is_wired in [true, false] {
        let (world, _, arrivals) = cross(faulty(10.0, 0.0), is_wired, 10_000);
        let twice = arrivals.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(arrivals.len(), 10_000 + twice);
        assert!((twice as f64 - 1000.0).abs() < 4.0 * 30.0, "{twice}");
        let accounts = world.accounts();
        assert_eq!((accounts.duplicated, accounts.consumed), (twice as u64, arrivals.len() as u64));
        assert!(accounts.balance());
    }
}

#[test]
fn a_damaged_packet_differs_by_one_bit_behind_its_ip_header() {
    for is_wired in [true, false] {
        let (world, [from, to], arrivals) = cross(faulty(0.0, 100.0), is_wired, 100);
        assert_eq!(arrivals.len(), 100);
        for (number, (_, came)) in arrivals.iter().enumerate() {
            assert!(matches!(came.transport(), Transport::Opaque { .. }), "no agent may believe it");
            let sent = emit(&packet(&world, from, to, number as u32));
            let came = emit(came);
            assert_eq!((came.len(), &came[..20]), (sent.len(), &sent[..20]));
            let bits: u32 = sent.iter().zip(&came).map(|(sent, came)| (sent ^ came).count_ones()).sum();
            assert_eq!(bits, 1);
        }
    }
}

#[test]
fn a_host_finds_out_by_the_checksum_and_what_it_drops_is_lost() {
    let way = Direction { faults: faulty(5.0, 5.0), ..direction(8000) };
    let (mut world, [from, to], _) = pair(NodeKind::Host, &way, true);
    let constant =
        Constant { message: 100, beat: Beat::Interval(Duration::from_millis(1)), jitter: Duration::ZERO };
    let datagrams = udp_flow(&world, (from, to), Application::Constant(constant));
    let datagrams = world.add_flow(FlowConfig { stop: Some(Instant::from_secs(20)), ..datagrams });
    let stream = world.add_flow(flow(&world, (from, to), Some(1_000_000)));
    world.run(Instant::from_secs(200), true);
    let accounts = world.accounts();
    assert!(accounts.balance(), "{accounts:?}");
    assert!(accounts.dropped[&DropCause::WrongChecksum] > 500 && accounts.duplicated > 500, "{accounts:?}");
    let TransportOutcome::Udp(udp) = world.outcome(datagrams).transport else { panic!("it has datagrams") };
    assert_eq!((udp.sent, udp.received + udp.lost, udp.in_transit), (20_000, 20_000, 0), "{udp:?}");
    // A second copy brings what the first had lost.
    let mean = 20_000.0 * (0.95 * 0.05 + 0.05 * 0.05 * 0.05);
    assert!((udp.lost as f64 - mean).abs() < 4.0 * mean.sqrt(), "{udp:?}");
    let stream = world.outcome(stream);
    assert!(stream.intact && stream.octets == 1_000_000, "{stream:?}");
}

#[test]
fn faults_change_while_packets_are_on_the_link_and_in_one_direction_only() {
    for is_wired in [true, false] {
        let (mut world, [from, to], link) = pair(NodeKind::External, &direction(8000), is_wired);
        world.inject(from, packet(&world, from, to, 0));
        world
            .reconfigure_link(link, LinkDirection::Forward, &Change::Faults(faulty(100.0, 0.0)))
            .expect("it can");
        world.inject(to, packet(&world, to, from, 1));
        world.advance_to(ms(100));
        assert_eq!((arrived(&mut world, to), arrived(&mut world, from)), (vec![0, 0], vec![1]));
        world.reconfigure_link(link, LinkDirection::Both, &Change::Faults(Faults::NONE)).expect("it can");
        world.inject(from, packet(&world, from, to, 2));
        world.advance_to(ms(200));
        assert_eq!(arrived(&mut world, to), [2]);
    }
}
