//! Packets that bypassed the agent: the ends have continued without it.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::TcpFlags;
use proptest::prelude::*;

use super::bench::{Bench, fixed, mobile};
use super::deeds::{Deed, Doing};
use super::drawn;
use super::world::World;
use crate::edits::But as _;

#[test]
fn data_acknowledged_past_the_agent_is_no_longer_owed() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    assert_eq!(bench.obligation().octets(), 500);
    bench.return_to();
    // 500 more bypassed the agent, and this acknowledges both.
    bench.wait(300);
    assert!(bench.radio(&mobile(5001, 0, 2001)).is_forwarded());
    assert!(bench.obligation().is_free(), "{:?}", bench.obligation());
    assert!(bench.core(&fixed(2001, 500, 5001)).is_forwarded(), "the ends are by themselves");
}

#[test]
fn owed_data_is_delivered_while_the_ends_continue() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.return_to();
    assert!(bench.core(&fixed(2001, 500, 5001)).is_forwarded(), "500 octets before it went past");
    assert_eq!(bench.obligation().octets(), 500);
    let again = bench.wait(1000);
    assert!(again.sent.iter().any(|(_, packet)| packet.payload().len() == 500), "{:?}", again.sent);
    assert!(bench.radio(&mobile(5001, 0, 2501)).is_forwarded());
    assert!(bench.obligation().is_free());
}

#[test]
fn another_agent_delivers_owed_data_while_the_ends_continue() {
    let mut bench = Bench::split();
    bench.radio(&mobile(5001, 500, 1001));
    bench.return_to();
    // The fixed host has sent 1000 octets past the agent, and receives their ACK.
    assert!(bench.radio(&mobile(5501, 0, 2001)).is_forwarded());
    bench.seat.move_on(bench.now, Duration::ZERO).expect("no law is broken");
    assert!(
        bench.core(&fixed(2001, 500, 5001)).is_forwarded(),
        "the agent does not speak for the ends again"
    );
    assert_eq!(bench.obligation().octets(), 500);
}

#[test]
fn a_pair_whose_fin_was_acknowledged_past_the_agent_moves() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 1001).flags(TcpFlags::FIN));
    bench.return_to();
    // The fixed host is ahead, and has acknowledged the FIN, which waits here.
    assert!(bench.core(&fixed(2001, 0, 5002)).is_forwarded());
    assert_eq!(bench.obligation().octets(), 500);
    bench.seat.move_on(bench.now, Duration::ZERO).expect("it is in a state that a connection can be in");
    assert_eq!(bench.obligation().octets(), 500);
}

#[test]
fn owed_data_carries_the_latest_acknowledgment_that_passed() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.return_to();
    // The mobile host's 100,000 octets bypassed the agent, and it discards segments with an ACK
    // from before them (RFC 5961, section 5.2).
    assert!(bench.core(&fixed(1501, 0, 105_001)).is_forwarded());
    let again = bench.wait(1000);
    assert!(again.to(Side::Radio).contains(&"A 1001+500 ack 105001".to_owned()), "{:?}", again.sent);
}

#[test]
fn ends_at_the_same_numbers_as_the_legs_stay_split() {
    let mut bench = Bench::split();
    bench.return_to();
    bench.wait(3000);
    bench.core(&fixed(1001, 0, 5001));
    bench.radio(&mobile(5001, 0, 1001));
    // Above a gap: not mistaken for bypassed data.
    assert!(!bench.core(&fixed(1501, 500, 5001)).is_forwarded());
    assert!(!bench.core(&fixed(1001, 500, 5001)).is_forwarded());
    assert_eq!(bench.obligation().octets(), 1000);
}

#[test]
fn without_an_absence_an_ack_of_unsent_data_is_ignored() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 2001));
    assert_eq!(bench.obligation().octets(), 500);
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn a_temporary_absence_of_the_agent_leaves_everything_intact(
        scene in drawn::scene(1),
        away in prop::collection::vec((drawn::moment(), 1u64..5000), 1..4),
    ) {
        let doing = |(after, millis)| Doing { seat: 0, after, waits: false, deed: Deed::Leave(millis) };
        let mut world = World::new(&drawn::with(scene, away.into_iter().map(doing)));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }
}
