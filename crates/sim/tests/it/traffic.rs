//! Applications over UDP and TCP: counts, rates and delays against arithmetic.

use std::time::Duration;

use allocation_counter::measure;
use lasthop_apps::traffic::{Beat, Bulk, Constant, OnOff, Span};
use lasthop_packet::{Bitrate, Instant};
use lasthop_sim::{
    Application, Direction, DropCause, FlowConfig, FlowId, LinkLayer, NodeId, NodeKind, Opening, QueueLimit,
    UdpOutcome, World,
};
use lasthop_tcp::Config;

use crate::support::{direction, flow, hash, ms, node, percent, tcp_transport, udp_flow, wired, wireless};

/// Two hosts, joined by a wire of this direction and 10 ms.
fn pair(direction: &Direction) -> (World, (NodeId, NodeId)) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", direction, 10));
    (world, (ends[0], ends[1]))
}

/// `kbps` in messages of `message` octets.
fn constant(kbps: u64, message: u32) -> Constant {
    let beat = Beat::Rate(Bitrate::from_bps(kbps * 1000).expect("above zero"));
    Constant { message, beat, jitter: Duration::ZERO }
}

fn bulk(message: u32) -> Application {
    Application::Bulk(Bulk { size: None, message })
}

fn udp(world: &World, id: FlowId) -> UdpOutcome {
    *world.outcome(id).udp().expect("a flow over UDP")
}

fn close(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() < 1e-9 * expected.abs().max(1.0)
}

#[test]
fn a_constant_rate_is_that_rate_from_start_to_stop_and_its_delay_that_of_the_path() {
    let (mut world, ends) = pair(&direction(8000));
    // 1,000 octets each 10 ms, from 0.5 s until before 2.5 s.
    let config = udp_flow(&world, ends, Application::Constant(constant(800, 1000)));
    let id = world.add_flow(FlowConfig { start: ms(500), stop: Some(ms(2500)), ..config });
    world.run(Instant::from_secs(100), true);
    // The last, sent at 2.49 s, takes 11.028 ms: the flow lasts a little longer than its
    // application.
    assert_eq!(world.now(), Instant::from_nanos(2_501_028_000));
    let outcome = world.outcome(id);
    let udp = udp(&world, id);
    assert_eq!((udp.sent, udp.received, udp.lost, udp.in_transit), (200, 200, 0, 0));
    assert_eq!((outcome.octets, udp.duplicated, udp.out_of_order, outcome.completion), (200_000, 0, 0, None));
    assert!(close(outcome.goodput_bps(), 1.6e6 / 2.001_028), "{outcome:?}");
    // 1,028 octets at 8 Mbit/s and 10 ms.
    let delay = udp.delay.expect("arrivals");
    assert!(close(delay.mean_s, 0.011_028) && close(delay.p95_s, 0.011_028) && close(delay.jitter_s, 0.0));
    assert!(outcome.intact && world.accounts().balance());
}

#[test]
fn what_a_full_queue_drops_is_lost_and_what_is_on_its_way_is_not() {
    let limited = Direction { queue: QueueLimit::Packets(10).into(), ..direction(1000) };
    let (mut world, ends) = pair(&limited);
    let id = world.add_flow(udp_flow(&world, ends, Application::Constant(constant(2000, 972))));
    world.advance_to(Instant::from_secs(10));
    let now = udp(&world, id);
    // One each 3.888 ms, and each takes 8 ms: 11 in the first hop, and up to two in flight.
    assert_eq!(now.sent, 10_000_000 / 3_888 + 1);
    assert!(now.in_transit >= 11 && now.in_transit <= 13, "{now:?}");
    assert_eq!(now.lost, world.accounts().dropped[&DropCause::QueueFull]);
    assert_eq!(now.sent, now.received + now.lost + now.in_transit);
    // (10 s - 18 ms) / 8 ms.
    assert_eq!(now.received, 1248);
}

#[test]
fn losses_on_a_link_are_counted_and_move_nothing_else() {
    let (mut world, ends) = pair(&Direction { loss: percent(5.0).into(), ..direction(8000) });
    let config = udp_flow(&world, ends, Application::Constant(constant(800, 100)));
    let id = world.add_flow(FlowConfig { stop: Some(Instant::from_secs(20)), ..config });
    world.run(Instant::from_secs(100), true);
    let udp = udp(&world, id);
    assert_eq!((udp.sent, udp.received + udp.lost), (20_000, 20_000));
    assert_eq!(udp.lost, world.accounts().dropped[&DropCause::WiredLoss]);
    assert!((udp.lost as f64 - 1000.0).abs() < 4.0 * 30.8, "{udp:?}");
}

#[test]
fn a_saturating_source_keeps_the_first_queue_and_no_more() {
    for queue in [QueueLimit::Unlimited, QueueLimit::Packets(1), QueueLimit::Packets(50)] {
        let (mut world, ends) = pair(&Direction { queue: queue.into(), ..direction(8000) });
        let id = world.add_flow(udp_flow(&world, ends, bulk(972)));
        world.advance_to(Instant::from_secs(10));
        let udp = udp(&world, id);
        // One a millisecond without a gap; 10 ms of them in flight, one in transmission, one that
        // waits.
        assert_eq!((udp.received, udp.lost), (9990, 0), "{queue:?}");
        assert_eq!((udp.sent, udp.in_transit), (10_002, 12), "{queue:?}");
    }
}

#[test]
fn where_nothing_may_wait_a_saturating_source_comes_when_the_link_is_free() {
    let (mut world, ends) = pair(&Direction { queue: QueueLimit::Packets(0).into(), ..direction(8000) });
    let id = world.add_flow(udp_flow(&world, ends, bulk(972)));
    world.advance_to(Instant::from_secs(1));
    let udp = udp(&world, id);
    assert_eq!(udp.received, 990);
    assert!(udp.sent < 2_010, "{udp:?}");
}

#[test]
fn saturating_sources_of_one_sender_share_its_queue_on_wires_and_on_the_air() {
    for is_wired in [true, false] {
        let mut world = World::new(1);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
        let way = Direction { queue: QueueLimit::Packets(4).into(), ..direction(8000) };
        if is_wired {
            world.add_wired_link(ends[0], ends[1], &wired("wire", &way, 1));
        } else {
            world.add_wireless_link(ends[0], ends[1], &wireless("air", &way, LinkLayer::UNRELIABLE));
        }
        let ids = [(); 3].map(|()| {
            let config = udp_flow(&world, (ends[0], ends[1]), bulk(972));
            world.add_flow(config)
        });
        world.advance_to(Instant::from_secs(3));
        let received = ids.map(|id| udp(&world, id).received);
        assert_eq!(received.iter().sum::<u64>(), 2999, "{is_wired}: {received:?}");
        assert!(received.iter().all(|share| share.abs_diff(1000) <= 1), "{is_wired}: {received:?}");
        assert!(ids.iter().all(|id| udp(&world, *id).lost == 0), "{is_wired}");
    }
}

#[test]
fn a_coarse_clock_does_not_make_a_saturating_source_send_for_ever_at_once() {
    for is_wired in [true, false] {
        let mut world = World::new(1);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
        // A datagram of 128 octets takes 0.128 ms, which the clock cuts down to nothing.
        let clock = Duration::from_millis(1);
        if is_wired {
            let mut link = wired("wire", &direction(8000), 1);
            link.clock = clock;
            world.add_wired_link(ends[0], ends[1], &link);
        } else {
            let mut link = wireless("air", &direction(8000), LinkLayer::UNRELIABLE);
            link.clock = clock;
            world.add_wireless_link(ends[0], ends[1], &link);
        }
        let id = world.add_flow(udp_flow(&world, (ends[0], ends[1]), bulk(100)));
        world.advance_to(Instant::from_secs(1));
        assert!((7_700..7_900).contains(&udp(&world, id).received), "{:?}", udp(&world, id));
    }
}

#[test]
fn a_file_over_udp_is_so_many_datagrams() {
    let (mut world, ends) = pair(&direction(8000));
    let file = Application::Bulk(Bulk { size: Some(10_001), message: 1000 });
    let id = world.add_flow(udp_flow(&world, ends, file));
    world.run(Instant::from_secs(100), true);
    assert_eq!((udp(&world, id).sent, udp(&world, id).received), (11, 11));
    assert!(world.now() < ms(30), "the run ends with it");
}

#[test]
fn bursts_over_tcp_are_all_that_tcp_sends_and_a_stop_loses_nothing() {
    for opening in [Opening::Handshake, Opening::Established] {
        let (mut world, ends) = pair(&direction(8000));
        let span = |tenths: u64| Span::Fixed(Duration::from_millis(100 * tenths));
        let on_off = OnOff { constant: constant(400, 500), on: span(5), off: span(15) };
        let tcp = tcp_transport(opening, &Config::default());
        let config = udp_flow(&world, ends, Application::OnOff(on_off));
        let stop = Some(Instant::from_secs(20));
        let id = world.add_flow(FlowConfig { transport: tcp, stop, ..config });
        world.run(Instant::from_secs(100), true);
        // Ten bursts of 0.5 s, a message each 10 ms.
        let outcome = world.outcome(id);
        assert_eq!((outcome.octets, outcome.completion, outcome.intact), (10 * 50 * 500, None, true));
        assert_eq!(outcome.tcp().map(|tcp| tcp.sender.retransmits), Some(0));
        assert_eq!(world.now(), Instant::from_secs(20), "what was written last had arrived");
    }
}

#[test]
fn a_run_waits_for_flows_with_an_end_and_not_for_those_without() {
    let (mut world, ends) = pair(&direction(8000));
    let endless = world.add_flow(udp_flow(&world, ends, Application::Constant(constant(80, 100))));
    let config = flow(&world, ends, Some(100_000));
    let download = world.add_flow(config);
    world.run(Instant::from_secs(1000), true);
    assert!(world.outcome(download).completion.is_some() && world.now() < Instant::from_secs(2));
    assert!(udp(&world, endless).received > 10);
    let (mut alone, ends) = pair(&direction(8000));
    alone.add_flow(udp_flow(&alone, ends, Application::Constant(constant(80, 100))));
    alone.run(Instant::from_secs(50), true);
    assert_eq!(alone.now(), Instant::from_secs(50));
}

#[test]
fn one_seed_gives_one_trace_of_bursts_and_another_seed_another() {
    let run = |seed: u64| {
        let mut world = World::new(seed);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
        world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
        let mean = Span::Exponential(Duration::from_millis(200));
        let jitter = Duration::from_millis(1);
        let constant = Constant { jitter, ..constant(800, 500) };
        let bursts = Application::OnOff(OnOff { constant, on: mean, off: mean });
        let (first, second) = (udp_flow(&world, (ends[0], ends[1]), bursts), bursts);
        world.add_flow(first);
        let second = udp_flow(&world, (ends[1], ends[0]), second);
        world.add_flow(second);
        let hash = hash(&mut world);
        world.advance_to(Instant::from_secs(30));
        hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn datagrams_allocate_nothing_and_memory_does_not_grow() {
    let (mut world, ends) = pair(&Direction { queue: QueueLimit::Packets(20).into(), ..direction(8000) });
    let mean = Span::Exponential(Duration::from_millis(200));
    let bursts = OnOff { constant: constant(4000, 500), on: mean, off: mean };
    for application in [bulk(1000), Application::Constant(constant(1000, 200)), Application::OnOff(bursts)] {
        world.add_flow(udp_flow(&world, ends, application));
    }
    world.advance_to(Instant::from_secs(500));
    let before = world.accounts().consumed;
    let growth = measure(|| world.advance_to(Instant::from_secs(2_000)));
    assert!(world.accounts().consumed - before > 1_000_000);
    // A longer delay than ever before takes a longer histogram.
    assert!(growth.count_total <= 6 && growth.bytes_current <= 4096, "{growth:?}");
}
