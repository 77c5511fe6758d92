//! Packets that went past the agent: the ends have gone on by themselves.

use lasthop_agent::Side;
use lasthop_packet::TcpFlags;
use proptest::prelude::*;

use super::bench::{Bench, fixed, mobile};
use super::deeds::{Deed, Doing};
use super::drawn;
use super::world::World;
use crate::edits::But as _;

#[test]
fn what_an_end_has_acknowledged_past_the_agent_is_owed_no_more() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    assert_eq!(bench.obligation().octets(), 500);
    bench.return_to();
    // 500 more went past, and this acknowledges both.
    bench.wait(300);
    assert!(bench.radio(&mobile(5001, 0, 2001)).is_forwarded());
    assert!(bench.obligation().is_free(), "{:?}", bench.obligation());
    assert!(bench.core(&fixed(2001, 500, 5001)).is_forwarded(), "the ends are by themselves");
}

#[test]
fn what_is_owed_is_served_while_the_ends_go_on() {
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
fn what_is_owed_is_served_by_another_agent_while_the_ends_go_on() {
    let mut bench = Bench::split();
    bench.radio(&mobile(5001, 500, 1001));
    bench.return_to();
    // The fixed host has sent 1000 octets past the agent, and hears that they have arrived.
    assert!(bench.radio(&mobile(5501, 0, 2001)).is_forwarded());
    bench.seat.move_on(bench.now).expect("no law is broken");
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
    // The fixed host is further on, and has acknowledged the FIN, which waits here for that.
    assert!(bench.core(&fixed(2001, 0, 5002)).is_forwarded());
    assert_eq!(bench.obligation().octets(), 500);
    bench.seat.move_on(bench.now).expect("it is in a state that a connection can be in");
    assert_eq!(bench.obligation().octets(), 500);
}

#[test]
fn what_is_owed_carries_the_latest_acknowledgment_that_passed() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.return_to();
    // The mobile host's 100,000 octets went past, and it discards what has an ACK from before them
    // (RFC 5961, section 5.2).
    assert!(bench.core(&fixed(1501, 0, 105_001)).is_forwarded());
    let again = bench.wait(1000);
    assert!(again.to(Side::Radio).contains(&"A 1001+500 ack 105001".to_owned()), "{:?}", again.sent);
}

#[test]
fn ends_that_stand_where_the_legs_do_are_split_as_before() {
    let mut bench = Bench::split();
    bench.return_to();
    bench.wait(3000);
    bench.core(&fixed(1001, 0, 5001));
    bench.radio(&mobile(5001, 0, 1001));
    // Behind a gap: not taken for what went past.
    assert!(!bench.core(&fixed(1501, 500, 5001)).is_forwarded());
    assert!(!bench.core(&fixed(1001, 500, 5001)).is_forwarded());
    assert_eq!(bench.obligation().octets(), 1000);
}

#[test]
fn without_an_absence_an_acknowledgment_of_what_was_never_sent_is_not_believed() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 2001));
    assert_eq!(bench.obligation().octets(), 500);
}

proptest! {
    #![proptest_config(super::cases(256))]

    #[test]
    fn an_agent_that_is_away_for_a_while_leaves_everything_intact(
        scene in drawn::scene(1),
        away in prop::collection::vec((drawn::moment(), 1u64..5000), 1..4),
    ) {
        let doing = |(after, millis)| Doing { seat: 0, after, waits: false, deed: Deed::Leave(millis) };
        let mut world = World::new(&drawn::with(scene, away.into_iter().map(doing)));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }
}
