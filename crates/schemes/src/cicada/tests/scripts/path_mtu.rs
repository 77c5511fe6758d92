//! Routers on either side that take smaller packets than the ends have agreed on.

use lasthop_agent::Side;
use lasthop_packet::{Packet, TcpFlags, quote};

use super::super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// The message of a router about the first packet that went to a side.
fn refusal(step: &Step, to: Side, mtu: u32) -> Packet {
    let (_, packet) = step.sent.iter().find(|(side, _)| *side == to).expect("something was sent there");
    quote::too_big(packet, "10.9.9.9".parse().expect("an address"), mtu).expect("it is about TCP")
}

#[test]
fn what_a_router_behind_the_hop_refuses_goes_again_in_smaller_segments() {
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
fn what_a_router_on_the_wire_refuses_of_an_upload_goes_again_in_smaller_segments() {
    let mut bench = Bench::split();
    let step = bench.radio(&mobile(5001, 1460, 1001));
    assert!(step.to(Side::Core).contains(&"A 5001+1460 ack 1001".to_owned()), "{step:?}");
    let step = bench.core(&refusal(&step, Side::Core, 1300));
    assert!(step.is_forwarded());
    assert_eq!(step.to(Side::Core), ["A 5001+1260 ack 1001", "A 6261+200 ack 1001"]);
}

#[test]
fn a_message_about_what_was_acknowledged_or_never_sent_passes_and_changes_nothing() {
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
fn segments_are_as_large_as_an_end_takes_whatever_a_router_beyond_the_other_end_allows() {
    // The fixed host's option was clamped on its way: that is for its peer.
    let clamp = |packet: Packet| {
        let is_answer = packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::ACK));
        packet.but(|tcp| tcp.options.maximum_segment_size = Some(if is_answer { 1260 } else { 1460 }))
    };
    let mut bench = Bench::opened_with(clamp);
    bench.core(&fixed(1001, 0, 5001));
    let step = bench.core(&fixed(1001, 1260, 5001));
    assert_eq!(step.to(Side::Radio), ["A 1001+1260 ack 5001"], "no more than the mobile host has offered");
}
