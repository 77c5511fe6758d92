//! Routers on either side with a smaller MTU than the negotiated segments.

use lasthop_agent::Side;
use lasthop_packet::{Packet, TcpFlags, quote};

use super::super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// A router's message about the first packet that was sent to a side.
fn refusal(step: &Step, to: Side, mtu: u32) -> Packet {
    let (_, packet) = step.sent.iter().find(|(side, _)| *side == to).expect("something was sent there");
    quote::too_big(packet, "10.9.9.9".parse().expect("an address"), mtu).expect("it is about TCP")
}

#[test]
fn a_packet_too_big_beyond_the_hop_is_resent_in_smaller_segments() {
    let mut bench = Bench::split();
    let step = bench.core(&fixed(1001, 1460, 5001));
    assert!(step.to(Side::Radio).contains(&"A 1001+1460 ack 5001".to_owned()), "{step:?}");
    let step = bench.radio(&refusal(&step, Side::Radio, 1300));
    assert!(step.is_forwarded(), "the fixed host may have a use for it, too");
    assert_eq!(step.to(Side::Radio), ["A 1001+1260 ack 5001", "A 2261+200 ack 5001"]);
    bench.radio(&mobile(5001, 0, 2461));
    assert!(bench.obligation().is_free());
    let step = bench.core(&fixed(2461, 1460, 5001));
    assert_eq!(step.to(Side::Radio), ["A 2461+1260 ack 5001", "A 3721+200 ack 5001"]);
}

#[test]
fn a_too_big_upload_packet_is_resent_in_smaller_segments() {
    let mut bench = Bench::split();
    let step = bench.radio(&mobile(5001, 1460, 1001));
    assert!(step.to(Side::Core).contains(&"A 5001+1460 ack 1001".to_owned()), "{step:?}");
    let step = bench.core(&refusal(&step, Side::Core, 1300));
    assert!(step.is_forwarded());
    assert_eq!(step.to(Side::Core), ["A 5001+1260 ack 1001", "A 6261+200 ack 1001"]);
}

#[test]
fn packet_too_big_about_acknowledged_or_unsent_data_changes_nothing() {
    let mut bench = Bench::split();
    let step = bench.core(&fixed(1001, 1460, 5001));
    let late = refusal(&step, Side::Radio, 1300);
    bench.radio(&mobile(5001, 0, 2461));
    let never = quote::too_big(&fixed(9001, 1460, 5001), "10.9.9.9".parse().expect("an address"), 1300);
    for message in [late, never.expect("it is about TCP")] {
        let step = bench.radio(&message);
        assert!(step.is_forwarded() && step.sent.is_empty(), "{step:?}");
    }
    let step = bench.core(&fixed(2461, 1460, 5001));
    assert_eq!(step.to(Side::Radio), ["A 2461+1460 ack 5001"]);
}

#[test]
fn the_segment_size_of_one_leg_does_not_depend_on_the_other_path() {
    // The fixed host's option was clamped on the path: that concerns only its peer.
    let clamp = |packet: Packet| {
        let is_answer = packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::ACK));
        packet.but(|tcp| tcp.options.maximum_segment_size = Some(if is_answer { 1260 } else { 1460 }))
    };
    let mut bench = Bench::opened_with(clamp);
    bench.core(&fixed(1001, 0, 5001));
    let step = bench.core(&fixed(1001, 1260, 5001));
    assert_eq!(step.to(Side::Radio), ["A 1001+1260 ack 5001"], "no more than the mobile host has offered");
}
