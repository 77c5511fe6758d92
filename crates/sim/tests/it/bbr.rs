//! BBR at a bottleneck of 10 Mbit/s and a round trip of 40 ms, alone and with CUBIC.

use std::time::Duration;

use lasthop_sim::{Application, FlowConfig, FlowId, NodeKind, Opening, QueueLimit, World};
use lasthop_tcp::{Config, Congestion};

use crate::support::{direction, ms, node, percent, tcp_transport, udp_flow, wired};

const RATE: f64 = 10e6 * 1448.0 / 1500.0;
/// Packets that fill the path.
const PRODUCT: f64 = 33.3;

/// A flow for each control, each from a server of its own, to one client; the bottleneck's queue
/// takes `queue` bandwidth-delay products.
fn shared(queue: f64, loss: f64, controls: &[Congestion]) -> (World, Vec<FlowId>) {
    let mut world = World::new(7);
    let [router, client] = [("router", NodeKind::Router), ("client", NodeKind::Host)]
        .map(|(name, kind)| node(&mut world, name, kind));
    let mut bottleneck = direction(10_000);
    bottleneck.queue = QueueLimit::Packets((queue * PRODUCT) as u64).into();
    let mut bottleneck = wired("bottleneck", &bottleneck, 10);
    bottleneck.forward.loss = percent(loss).into();
    world.add_wired_link(router, client, &bottleneck);
    let mut flows = Vec::new();
    for (number, &congestion) in controls.iter().enumerate() {
        let server = node(&mut world, &format!("server {number}"), NodeKind::Host);
        let name = format!("wire {number}");
        world.add_wired_link(server, router, &wired(&name, &direction(1_000_000), 10));
        let slow_start = congestion.slow_start_in_linux();
        let tcp = Config { congestion, slow_start, ..Config::linux() };
        let flow = udp_flow(&world, (server, client), Application::transfer(None));
        flows.push(FlowConfig { transport: tcp_transport(Opening::Handshake, &tcp), ..flow });
    }
    let flows = flows.into_iter().map(|flow| world.add_flow(flow)).collect();
    (world, flows)
}

/// Each flow's part of the bottleneck between two times, in seconds.
fn parts(world: &mut World, flows: &[FlowId], from: u64, to: u64) -> Vec<f64> {
    let octets = |world: &World| flows.iter().map(|id| world.outcome(*id).octets).collect::<Vec<u64>>();
    world.run(ms(from * 1000), false);
    let before = octets(world);
    world.run(ms(to * 1000), false);
    let part = |(after, before): (u64, u64)| (after - before) as f64 * 8.0 / (to - from) as f64 / RATE;
    octets(world).into_iter().zip(before).map(part).collect()
}

/// Over ten seconds more.
fn mean_rtt(world: &mut World, flow: FlowId) -> Duration {
    let mut sum = Duration::ZERO;
    for step in 1..=1000 {
        world.run(ms(30_000 + step * 10), false);
        sum += world.sender(flow).and_then(|sender| sender.rtt().srtt()).unwrap_or_default();
    }
    sum / 1000
}

#[test]
fn bbr_fills_the_link_whatever_its_queue_takes() {
    for queue in [0.5, 1.0, 4.0] {
        for (congestion, least) in [(Congestion::Bbr, 0.95), (Congestion::Bbr3, 0.9)] {
            let (mut world, flows) = shared(queue, 0.0, &[congestion]);
            let part = parts(&mut world, &flows, 5, 30)[0];
            assert!(part > least, "{congestion:?}, {queue} products: {part}");
            let rtt = mean_rtt(&mut world, flows[0]);
            assert!(rtt < Duration::from_millis(55), "{congestion:?}, {queue} products: {rtt:?}");
        }
    }
}

#[test]
fn random_loss_hardly_slows_bbr_down() {
    for (loss, least) in [(1.0, 0.95), (5.0, 0.9), (15.0, 0.7)] {
        let (mut world, flows) = shared(1.0, loss, &[Congestion::Bbr]);
        let part = parts(&mut world, &flows, 5, 30)[0];
        assert!(part > least * (1.0 - loss / 100.0), "{loss}%: {part}");
    }
    let (mut world, flows) = shared(1.0, 1.0, &[Congestion::CubicLinux]);
    let cubic = parts(&mut world, &flows, 5, 30)[0];
    assert!(cubic < 0.5, "CUBIC takes each loss for congestion: {cubic}");
    let (mut world, flows) = shared(1.0, 1.0, &[Congestion::Bbr3]);
    let bbr3 = parts(&mut world, &flows, 5, 30)[0];
    assert!(bbr3 > 0.75, "{bbr3}");
}

/// What is published of BBR version 1: in a shallow queue it takes what CUBIC leaves, which is much;
/// in a deep one CUBIC fills the queue and BBR's window bounds its part. Version 3 is to leave more
/// where the queue is shallow.
#[test]
fn the_depth_of_the_queue_says_who_has_more_of_a_shared_link() {
    let bbr_part = |congestion, queue| {
        let (mut world, flows) = shared(queue, 0.0, &[congestion, Congestion::CubicLinux]);
        let parts = parts(&mut world, &flows, 20, 120);
        assert!(parts.iter().sum::<f64>() > 0.9, "{congestion:?}, {queue} products: {parts:?}");
        parts[0] / parts.iter().sum::<f64>()
    };
    let bbr = [0.5, 1.0, 4.0].map(|queue| bbr_part(Congestion::Bbr, queue));
    assert!(bbr[0] > 0.6 && bbr[0] > bbr[2] && bbr[1] > bbr[2], "{bbr:?}");
    assert!((0.2..0.6).contains(&bbr[2]), "{bbr:?}");
    let bbr3 = [0.5, 1.0, 4.0].map(|queue| bbr_part(Congestion::Bbr3, queue));
    assert!(bbr3[0] < bbr[0], "{bbr3:?} beside {bbr:?}");
    assert!(bbr3.iter().all(|part| (0.1..0.9).contains(part)), "{bbr3:?}");
}

#[test]
fn two_bbr_flows_share_a_link() {
    for congestion in [Congestion::Bbr, Congestion::Bbr3] {
        let (mut world, flows) = shared(2.0, 0.0, &[congestion; 2]);
        let parts = parts(&mut world, &flows, 20, 80);
        assert!(parts.iter().all(|part| *part > 0.35), "{congestion:?}: {parts:?}");
    }
}

/// For docs/src/validation/tcp.md: `cargo test -p lasthop-sim --test it bbr::figures -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints, checks nothing"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn figures() {
    for congestion in [Congestion::Bbr, Congestion::Bbr3] {
        for queue in [0.5, 1.0, 4.0] {
            let (mut world, flows) = shared(queue, 0.0, &[congestion, Congestion::CubicLinux]);
            let parts = parts(&mut world, &flows, 20, 120);
            println!("{congestion:?} and CUBIC, {queue} products: {:.2} and {:.2}", parts[0], parts[1]);
        }
    }
}
