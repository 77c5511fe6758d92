//! Managed queues at links: what RED, CoDel and FQ-CoDel do to flows, and what a link with one keeps
//! of a link with a plain queue.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allocation_counter::measure;
use lasthop_apps::traffic::{Beat, Bulk, Constant};
use lasthop_packet::wire::{checksums_are_right, emit, parse};
use lasthop_packet::{Ecn, Instant, Ip, Packet, Payload, Transport, Udp};
use lasthop_sim::queue::{CoDelConfig, FqCoDelConfig, RedConfig, Thresholds};
use lasthop_sim::world::{Change, ChangeError, LinkDirection};
use lasthop_sim::{
    Application, Direction, Discipline, DropCause, FlowConfig, FlowId, Interest, LinkId, LinkLayer, NodeId,
    NodeKind, Observer, Opening, QueueConfig, QueueLimit, TraceEvent, World,
};
use lasthop_tcp::{Config, Congestion, Recovery};

use crate::radio::STOP_AND_WAIT;
use crate::support::{
    arrived, direction, hash, ms, node, packet, percent, tcp_transport, udp_flow, wired, wireless,
};

const CODEL: Discipline =
    Discipline::CoDel(CoDelConfig { target: ms_of(5), interval: ms_of(100), ecn: false });

const fn ms_of(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn fq_codel() -> Discipline {
    Discipline::FqCoDel(FqCoDelConfig::default())
}

fn red() -> Discipline {
    Discipline::Red(RedConfig::default())
}

/// CoDel that never acts.
fn patient() -> Discipline {
    Discipline::CoDel(CoDelConfig { target: Duration::from_secs(1_000_000), ..CoDelConfig::default() })
}

fn queue(packets: u64, discipline: Discipline) -> QueueConfig {
    QueueConfig { limit: QueueLimit::Packets(packets), discipline }
}

/// A source and a sink, hosts or external nodes, with a link of 10 Mbit/s and such queues between
/// them.
fn pair(layer: Option<LinkLayer>, queue: QueueConfig, kind: NodeKind) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(3);
    let ends = ["source", "sink"].map(|name| node(&mut world, name, kind));
    let direction = Direction { queue, ..direction(10_000) };
    let link = match layer {
        None => world.add_wired_link(ends[0], ends[1], &wired("link", &direction, 20)),
        Some(layer) => world.add_wireless_link(ends[0], ends[1], &wireless("link", &direction, layer)),
    };
    (world, ends, link)
}

/// A source, a router and a sink; 1 Gbit/s to the router, 10 Mbit/s with this queue from there, so
/// many milliseconds of propagation each.
fn bottleneck(queue: QueueConfig, delay_ms: u64) -> (World, [NodeId; 2]) {
    let mut world = World::new(3);
    let source = node(&mut world, "source", NodeKind::Host);
    let router = node(&mut world, "router", NodeKind::Router);
    let sink = node(&mut world, "sink", NodeKind::Host);
    world.add_wired_link(source, router, &wired("fast", &direction(1_000_000), delay_ms));
    let slow = Direction { queue, ..direction(10_000) };
    world.add_wired_link(router, sink, &wired("slow", &slow, delay_ms));
    (world, [source, sink])
}

fn bulk_tcp(world: &mut World, ends: [NodeId; 2], congestion: Congestion) -> FlowId {
    let tcp = Config {
        mss: 1000,
        window: 1 << 22,
        sack: true,
        recovery: Recovery::Sack,
        congestion,
        initial_ssthresh: 1 << 30,
        ..Config::default()
    };
    bulk(world, ends, &tcp)
}

fn bulk(world: &mut World, ends: [NodeId; 2], tcp: &Config) -> FlowId {
    let flow = FlowConfig {
        transport: tcp_transport(Opening::Handshake, tcp),
        ..udp_flow(world, (ends[0], ends[1]), Application::transfer(None))
    };
    world.add_flow(flow)
}

/// What waited at each arrival at the bottleneck from a time on, in seconds of its transmission.
fn waits(world: &mut World, from: Instant) -> impl Fn() -> Vec<f64> + use<> {
    struct Waits(Arc<Mutex<Vec<f64>>>, Instant);
    impl Observer for Waits {
        fn interest(&self) -> Interest {
            Interest::QUEUES
        }
        fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
            if let TraceEvent::Queue { link, octets, .. } = event
                && link.index() == 1
                && now >= self.1
            {
                self.0.lock().expect("no panic elsewhere").push(*octets as f64 * 8.0 / 10e6);
            }
        }
    }
    let all = Arc::new(Mutex::new(Vec::new()));
    world.observe(Box::new(Waits(Arc::clone(&all), from)));
    move || {
        let mut all = all.lock().expect("no panic elsewhere").clone();
        all.sort_by(f64::total_cmp);
        all
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

#[test]
fn a_managed_queue_that_never_acts_is_a_plain_one() {
    for layer in [None, Some(LinkLayer::UNRELIABLE), Some(STOP_AND_WAIT)] {
        let hash_of = |discipline| {
            let (mut world, ends, _) = pair(layer, queue(30, discipline), NodeKind::Host);
            let hash = hash(&mut world);
            let flow = bulk_tcp(&mut world, ends, Congestion::Cubic);
            world.run(Instant::from_secs(30), false);
            assert!(world.accounts().dropped[&DropCause::QueueFull] > 10);
            (hash(), world.outcome(flow).octets)
        };
        assert_eq!(hash_of(patient()), hash_of(Discipline::DropTail), "{layer:?}");
    }
}

#[test]
fn codel_keeps_the_median_delay_of_a_bulk_flow_near_its_target_and_the_link_busy() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        let run = |discipline| {
            let (mut world, ends) = bottleneck(queue(1000, discipline), 1);
            let waits = waits(&mut world, Instant::from_secs(20));
            let flow = bulk_tcp(&mut world, ends, congestion);
            world.run(Instant::from_secs(20), false);
            let before = world.outcome(flow).octets;
            world.run(Instant::from_secs(120), false);
            let bps = (world.outcome(flow).octets - before) as f64 * 8.0 / 100.0;
            (median(&waits()), bps, world.accounts())
        };
        let (plain, ..) = run(Discipline::DropTail);
        let (managed, bps, accounts) = run(CODEL);
        assert!(plain > 0.2, "{congestion:?}: {plain} s without it");
        assert!((0.004..0.006).contains(&managed), "{congestion:?}: {managed} s");
        assert!(bps > 9.6e6, "{congestion:?}: {bps} bit/s");
        assert!(accounts.dropped[&DropCause::QueueManagement] > 10 && accounts.balance());
        assert!(!accounts.dropped.contains_key(&DropCause::QueueFull), "{accounts:?}");
    }
}

//= RFC 3168, section 5: a mark in the place of a drop; and section 6.1: TCP takes it for one.
#[test]
fn marks_keep_the_queue_as_short_as_drops_do_and_nothing_goes_twice() {
    let codel = CoDelConfig { ecn: true, ..CoDelConfig::default() };
    let fq_codel = FqCoDelConfig { codel, ..FqCoDelConfig::default() };
    let thresholds = Thresholds::Packets(5, 30);
    let red = RedConfig { thresholds, ecn: true, ..RedConfig::default() };
    for discipline in [Discipline::CoDel(codel), Discipline::FqCoDel(fq_codel), Discipline::Red(red)] {
        for congestion in [Congestion::Reno, Congestion::RenoAbc, Congestion::Cubic, Congestion::CubicLinux] {
            let run = |ecn| {
                let (mut world, ends) = bottleneck(queue(1000, discipline), 5);
                let waits = waits(&mut world, Instant::from_secs(5));
                let flow = bulk(&mut world, ends, &Config { ecn, congestion, ..Config::linux() });
                world.run(Instant::from_secs(60), false);
                let dropped = world.accounts().dropped.get(&DropCause::QueueManagement).copied().unwrap_or(0);
                (world.outcome(flow), median(&waits()), dropped, world.packets_marked())
            };
            let (marked, dropping) = (run(true), run(false));
            let case = format!("{discipline:?}, {congestion:?}: {marked:?} and {dropping:?}");
            assert!(marked.3 > Some(10) && dropping.3 == Some(0), "{case}");
            assert!(marked.2 == 0 && dropping.2 > 10, "{case}");
            assert!(marked.0.tcp().is_some_and(|tcp| tcp.sender.retransmits == 0), "{case}");
            assert!(marked.0.octets * 100 > dropping.0.octets * 98, "{case}");
            assert!(marked.1 < 1.5 * dropping.1 + 0.002, "{case}");
        }
    }
}

#[test]
fn red_keeps_the_queue_of_many_flows_short_on_the_average() {
    let mean = |discipline| {
        let (mut world, ends) = bottleneck(queue(1000, discipline), 10);
        let waits = waits(&mut world, Instant::from_secs(20));
        for _ in 0..16 {
            bulk_tcp(&mut world, ends, Congestion::Reno);
        }
        world.run(Instant::from_secs(120), false);
        let (waits, packet) = (waits(), 1040.0 * 8.0 / 10e6);
        let drops = world.accounts().dropped.get(&DropCause::QueueManagement).copied().unwrap_or(0);
        (waits.iter().sum::<f64>() / waits.len() as f64 / packet, drops)
    };
    let ((plain, none), (managed, some)) = (mean(Discipline::DropTail), mean(red()));
    assert!(plain > 300.0 && none == 0, "{plain} packets");
    // Below the upper threshold.
    assert!(managed < 15.0 && some > 100, "{managed} packets, {some} drops");
}

#[test]
fn fq_codel_gives_a_cautious_flow_and_a_greedy_one_the_same() {
    let shares = |discipline| {
        let (mut world, ends) = bottleneck(queue(1000, discipline), 10);
        let flows = [Congestion::Vegas, Congestion::Cubic].map(|kind| bulk_tcp(&mut world, ends, kind));
        world.run(Instant::from_secs(20), false);
        let before = flows.map(|flow| world.outcome(flow).octets);
        world.run(Instant::from_secs(120), false);
        let [vegas, cubic] = [0, 1].map(|flow| (world.outcome(flows[flow]).octets - before[flow]) as f64);
        vegas / (vegas + cubic)
    };
    let (plain, managed) = (shares(Discipline::DropTail), shares(fq_codel()));
    assert!(plain < 0.2, "without it, {plain}");
    assert!((managed - 0.5).abs() < 0.02, "{managed}");
}

#[test]
fn fq_codel_lets_a_sparse_flow_pass_a_standing_queue() {
    let delays = |discipline| {
        let (mut world, ends) = bottleneck(queue(1000, discipline), 10);
        for _ in 0..3 {
            bulk_tcp(&mut world, ends, Congestion::Cubic);
        }
        // 64 kbit/s, as of a call.
        let call = Application::Constant(Constant {
            message: 160,
            beat: Beat::Interval(ms_of(20)),
            jitter: Duration::ZERO,
        });
        let call = world.add_flow(udp_flow(&world, (ends[0], ends[1]), call));
        world.run(Instant::from_secs(60), false);
        let outcome = *world.outcome(call).udp().expect("it is");
        (outcome.delay.expect("some arrive").p95_s, outcome.lost)
    };
    let (plain, managed) = (delays(Discipline::DropTail), delays(fq_codel()));
    assert!(plain.0 > 0.3, "{plain:?}");
    // 20 ms of propagation, a packet that is being sent before it, and that of each other new flow.
    assert!(managed.0 < 0.024 && managed.1 == 0, "{managed:?}");
}

#[test]
fn a_saturating_source_keeps_a_managed_queue_as_it_does_a_plain_one() {
    let bulk = || Application::Bulk(Bulk { size: None, message: 972 });
    for layer in [None, Some(LinkLayer::UNRELIABLE)] {
        for discipline in [CODEL, red(), fq_codel()] {
            for packets in [1, 50] {
                let (mut world, ends, _) = pair(layer, queue(packets, discipline), NodeKind::Host);
                let id = world.add_flow(udp_flow(&world, (ends[0], ends[1]), bulk()));
                world.run(Instant::from_secs(10), false);
                let outcome = world.outcome(id);
                // One datagram in 0.8 ms.
                let udp = outcome.udp().expect("it is");
                assert!(udp.received > 12_400, "{layer:?} {discipline:?} {packets}: {udp:?}");
                assert!(udp.sent < 25_500, "{layer:?} {discipline:?} {packets}: {udp:?}");
                assert!(world.accounts().balance());
            }
        }
    }
}

/// A datagram of an external host with this ECN field.
fn datagram(world: &World, ends: [NodeId; 2], ecn: Ecn) -> Packet {
    let mut ip = Ip::new(world.node_address(ends[0]), world.node_address(ends[1]));
    ip.set_ecn(ecn);
    let udp = Transport::Udp(Udp { source_port: 9, destination_port: 9 });
    Packet::new(ip, udp, Payload::Stream { stream: 5, offset: 0, len: 972 })
}

#[test]
fn real_packets_are_marked_in_their_octets_and_others_dropped() {
    let ecn = CoDelConfig { ecn: true, ..CoDelConfig::default() };
    let thresholds = Thresholds::Packets(5, 5000);
    let disciplines = [
        Discipline::CoDel(ecn),
        Discipline::FqCoDel(FqCoDelConfig { codel: ecn, ..FqCoDelConfig::default() }),
        Discipline::Red(RedConfig { thresholds, weight: 0.001, ecn: true, ..RedConfig::default() }),
    ];
    for layer in [None, Some(LinkLayer::UNRELIABLE)] {
        for discipline in disciplines {
            let (mut world, ends, _) = pair(layer, queue(5000, discipline), NodeKind::External);
            for number in 0..2000 {
                let ecn = if number % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
                let octets = emit(&datagram(&world, ends, ecn));
                world.inject(ends[0], parse(octets).expect("our own"));
            }
            world.run(Instant::from_secs(10), false);
            let arrived = world.collect(ends[1]);
            let marked = arrived.iter().filter(|(_, packet)| packet.ip().ecn() == Ecn::Ce).count();
            assert!(arrived.iter().all(|(_, packet)| checksums_are_right(&emit(packet))));
            assert!(marked > 2, "{discipline:?}");
            assert_eq!(world.packets_marked(), Some(marked as u64));
            let capable = arrived.iter().filter(|(_, packet)| packet.ip().ecn() != Ecn::NotEct).count();
            assert_eq!(capable, 1000, "no packet that can be marked is dropped: {discipline:?}");
            let dropped = world.accounts().dropped[&DropCause::QueueManagement];
            assert_eq!(arrived.len() as u64 + dropped, 2000, "{discipline:?}");
        }
    }
    let (world, _, _) = pair(None, queue(10, Discipline::DropTail), NodeKind::External);
    assert_eq!(world.packets_marked(), None);
}

#[test]
fn a_lossy_link_with_a_managed_queue_loses_its_share() {
    let (mut world, ends) = {
        let mut world = World::new(1);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
        let queue = QueueConfig { limit: QueueLimit::Unlimited, discipline: patient() };
        let direction = Direction { queue, loss: percent(2.0).into(), ..direction(1_000_000) };
        world.add_wired_link(ends[0], ends[1], &wired("wire", &direction, 1));
        (world, ends)
    };
    for number in 0..100_000 {
        world.inject(ends[0], packet(&world, ends[0], ends[1], number));
    }
    world.advance_to(Instant::from_secs(10));
    let lost = 100_000.0 - arrived(&mut world, ends[1]).len() as f64;
    assert!((lost - 2000.0).abs() < 4.0 * 44.3, "{lost}");
    assert_eq!(world.accounts().dropped[&DropCause::WiredLoss], lost as u64);
    assert!(world.accounts().balance());
}

#[test]
fn settings_change_and_the_discipline_does_not() {
    for layer in [None, Some(LinkLayer::UNRELIABLE)] {
        for (discipline, other) in [(CODEL, red()), (red(), fq_codel()), (Discipline::DropTail, CODEL)] {
            let (mut world, ends, link) = pair(layer, queue(100, discipline), NodeKind::External);
            let change = |world: &mut World, queue| {
                world.reconfigure_link(link, LinkDirection::Forward, &Change::Queue(queue))
            };
            assert_eq!(change(&mut world, queue(2, other)), Err(ChangeError::Discipline));
            assert_eq!(change(&mut world, queue(2, discipline)), Ok(()));
            for number in 0..5 {
                world.inject(ends[0], packet(&world, ends[0], ends[1], number));
            }
            world.advance_to(ms(100));
            assert_eq!(arrived(&mut world, ends[1]).len(), 3, "{discipline:?}");
        }
    }
}

#[test]
fn the_steady_path_of_a_managed_queue_allocates_nothing() {
    for discipline in [CODEL, red(), fq_codel()] {
        for layer in [None, Some(LinkLayer::UNRELIABLE)] {
            let (mut world, ends, _) = pair(layer, queue(1000, discipline), NodeKind::Host);
            let flow = bulk_tcp(&mut world, ends, Congestion::Reno);
            world.run(Instant::from_secs(100), false);
            let before = world.outcome(flow).octets;
            let allocations = measure(|| world.run(Instant::from_secs(200), false));
            assert!((world.outcome(flow).octets - before) / 1000 > 50_000);
            assert_eq!(allocations.count_total, 0, "{discipline:?}: {allocations:?}");
        }
    }
}
