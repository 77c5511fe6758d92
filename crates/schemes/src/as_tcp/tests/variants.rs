//! Refusal, ACKs on the air, a split at the router.

use lasthop_agent::counter::ACKS_GENERATED;
use lasthop_agent::{Agent as _, LinkSenses};

use super::super::{AsTcpEdge, Settings, SplitAt};
use super::bench::{Bench, phone, server};
use crate::lle::Place;

#[test]
fn frames_are_refused_while_the_queue_is_too_long() {
    let mut bench = Bench::split(Settings { refuse_above: 5000, ..Settings::default() });
    for seq in (5001..25_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air();
    }
    assert!(bench.refuses(), "the server's window of ten segments is full, and ten more wait");
    for acknowledged in (6001..=25_001).step_by(1000) {
        bench.server(&server(1001, 0, acknowledged));
    }
    assert!(!bench.refuses());
}

#[test]
fn only_an_access_point_refuses_frames_and_only_if_configured() {
    let of = |refuse_above, place| {
        AsTcpEdge::new(&Settings { refuse_above, ..Settings::default() }, place).needs()
    };
    assert_eq!(of(0, Place::EndOfHop), LinkSenses::FRAME_FATE);
    assert_eq!(of(5000, Place::EndOfHop), LinkSenses::FRAME_FATE | LinkSenses::REFUSAL);
    assert_eq!(of(5000, Place::SilentEnd), LinkSenses::empty());
}

#[test]
fn with_acks_on_the_air_each_ack_crosses_and_is_dropped_at_the_host() {
    let mut bench = Bench::split(Settings { acks_on_air: true, ..Settings::default() });
    let mut on_air = 0;
    for seq in (5001..15_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air_one();
        on_air += bench.frames_down().len();
        bench.air();
    }
    assert!(on_air >= 5, "the split acknowledges every second segment: {on_air}");
    assert_eq!(bench.count(&ACKS_GENERATED), 10);
    assert_eq!(bench.delivered().len(), 10, "the phone's TCP hears those alone that were made");
}

#[test]
fn a_split_at_the_router_suppresses_its_acks_and_generates_none() {
    let mut bench = Bench::split(Settings { split_at: SplitAt::Router, ..Settings::default() });
    bench.phone(&phone(5001, 1000, 1001));
    bench.air_one();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
    assert_eq!(bench.count(&ACKS_GENERATED), 1);
    bench.forget();
    // Downloads: the phone's ACKs cross.
    for seq in [1001, 2001] {
        bench.server(&server(seq, 1000, 6001));
        bench.air();
        bench.phone(&phone(6001, 0, seq + 1000));
        bench.air();
    }
    assert_eq!((bench.count(&ACKS_GENERATED), bench.obligation().octets()), (0, 0));
}
