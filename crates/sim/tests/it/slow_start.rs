//! How the first slow start ends.

use lasthop_sim::{Application, DropCause, FlowConfig, NodeKind, Opening, QueueLimit, World};
use lasthop_tcp::{Config, Congestion, Recovery, SlowStart};

use crate::support::{direction, ms, node, tcp_transport, udp_flow, wired};

/// Packets that overflow a queue of 100 packets on a path of 10 Mbit/s and 52 ms, and the goodput,
/// within ten seconds of CUBIC.
fn first_ten_seconds(slow_start: SlowStart) -> (u64, f64) {
    let mut world = World::new(1);
    let ends = ["server", "client"].map(|name| node(&mut world, name, NodeKind::Host));
    let mut direction = direction(10_000);
    direction.queue = QueueLimit::Packets(100).into();
    world.add_wired_link(ends[0], ends[1], &wired("path", &direction, 26));
    let tcp = Config {
        window: 4 << 20,
        sack: true,
        congestion: Congestion::Cubic,
        recovery: Recovery::Sack,
        slow_start,
        initial_window: 10,
        initial_ssthresh: 1 << 30,
        ..Config::default()
    };
    let flow = FlowConfig {
        transport: tcp_transport(Opening::Handshake, &tcp),
        ..udp_flow(&world, (ends[0], ends[1]), Application::transfer(None))
    };
    let flow = world.add_flow(flow);
    world.run(ms(10_000), false);
    let dropped = world.accounts().dropped.get(&DropCause::QueueFull).copied().unwrap_or(0);
    (dropped, world.outcome(flow).goodput_bps())
}

#[test]
fn hystart_overshoots_less_than_slow_start() {
    let (standard, without) = first_ten_seconds(SlowStart::Standard);
    let (hystart, with) = first_ten_seconds(SlowStart::HystartPlusPlus);
    assert!(standard > 200, "slow start overshoots: {standard} packets lost");
    // It notices at twice the path's window; five rounds of a quarter each still fill this queue.
    assert!(hystart * 4 < standard, "{hystart} packets lost, {standard} without");
    assert!(with >= without, "and the path is used: {with} bit/s, {without} without");
}
