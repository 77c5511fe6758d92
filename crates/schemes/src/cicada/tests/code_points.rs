//! The ends' code points on both legs.

use lasthop_agent::Side;
use lasthop_packet::{Ip, Packet};

use super::bench::{Bench, fixed};

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
