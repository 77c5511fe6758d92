//! A leg's packets have the marks of the other leg's peer.

use lasthop_agent::Side;
use lasthop_packet::{Ip, Packet};

use super::super::bench::{Bench, Step, fixed, mobile};

/// Expedited and assured forwarding (RFC 3246, RFC 2597), with a mark for ECN.
const EF: u8 = 46;
const AF41: u8 = 34;

#[test]
fn the_ends_code_points_are_kept_and_their_ecn_marks_are_not() {
    let mut bench = Bench::split();
    let marked = |packet: Packet, dscp: u8| {
        let ip = Ip { traffic_class: dscp << 2 | 3, ..*packet.ip() };
        Packet::new(ip, packet.transport().clone(), packet.payload().clone())
    };
    let code_points = |step: Step, to: Side| -> Vec<(u8, u8)> {
        let sent = step.sent.iter().filter(|(side, _)| *side == to);
        sent.map(|(_, packet)| (packet.ip().dscp(), packet.ip().traffic_class & 3)).collect()
    };
    let step = bench.core(&marked(fixed(1001, 500, 5001), EF));
    assert_eq!(code_points(step, Side::Radio), [(EF, 0)]);
    let step = bench.radio(&marked(mobile(5001, 500, 1501), AF41));
    assert_eq!(code_points(step, Side::Core), [(AF41, 0)]);
}

/// RFC 5082: an end may reject packets that have crossed more hops than the other end is away.
#[test]
fn the_ends_hop_limits_are_kept_and_a_single_small_one_is_ignored() {
    let limited = |packet: Packet, hop_limit: u8| {
        let ip = Ip { hop_limit, ..*packet.ip() };
        Packet::new(ip, packet.transport().clone(), packet.payload().clone())
    };
    let hop_limits = |step: Step, to: Side| -> Vec<u8> {
        let sent = step.sent.iter().filter(|(side, _)| *side == to);
        sent.map(|(_, packet)| packet.ip().hop_limit).collect()
    };
    let mut bench = Bench::opened_with(|packet| limited(packet, 254));
    bench.core(&limited(fixed(1001, 0, 5001), 254));
    let step = bench.core(&limited(fixed(1001, 500, 5001), 1));
    assert_eq!(hop_limits(step, Side::Radio), [254]);
    let step = bench.radio(&limited(mobile(5001, 500, 1501), 255));
    assert_eq!(hop_limits(step, Side::Core), [255]);
}
