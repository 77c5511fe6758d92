//! Events that affect a running agent, and the resulting guarantees.

use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Agent, Budget, Side, Transfer, Verdict};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};
use proptest::prelude::*;

use super::drawn;
use super::seat::Seat;
use super::world::{KEY, World};

/// An event that affects an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is gone: all packets are forwarded from now on.
    Kill,
    /// Its process is absent for this number of milliseconds.
    Leave(u64),
    /// Another agent continues from its state, and gets the rest of it this number of milliseconds later.
    Move(u64),
    MayOwe(bool),
    /// Its memory budget is reduced to this number of octets per connection.
    Budget(usize),
    Drain,
    Release,
    /// A call begins; it has ended 10 s later.
    Call,
}

/// An event, and its time: once its seat has seen this number of packets.
#[derive(Clone, Copy, Debug)]
pub struct Doing {
    pub seat: usize,
    pub after: u32,
    /// Not before there are no obligations.
    pub waits: bool,
    pub deed: Deed,
}

impl Doing {
    pub fn is_due(&self, seats: &[Seat]) -> bool {
        seats
            .get(self.seat)
            .is_some_and(|seat| seat.packets >= self.after && (!self.waits || seat.owed().connections == 0))
    }
}

impl Deed {
    /// Whether a connection with obligations may stall after it.
    pub const fn is_harmful(self) -> bool {
        matches!(self, Self::Kill | Self::Release)
    }

    pub fn on(self, seat: &mut Seat, now: Instant) -> Result<Vec<(Side, Packet)>, TestCaseError> {
        match self {
            Self::Kill => seat.agent = None,
            Self::Move(millis) => return seat.move_on(now, Duration::from_millis(millis)),
            // The watch does not see packets that bypass the agent.
            Self::Leave(millis) => {
                (seat.away_until, seat.is_watched) = (Some(now + Duration::from_millis(millis)), false);
            }
            Self::MayOwe(may_owe) => seat.may_owe = may_owe,
            Self::Budget(octets) => {
                seat.is_within_budget = false;
                seat.budget = Budget { octets_per_flow: octets, octets_in_all: 2 * octets, ..seat.budget };
            }
            Self::Call => return begin_call(seat, now),
            Self::Drain | Self::Release => {
                if self == Self::Release {
                    seat.watch.forget();
                }
                let called = seat.call(now, |agent, cx| match self {
                    Self::Drain => agent.drain(cx),
                    _ => agent.release(KEY, cx),
                });
                let sent = called.map_or(Vec::new(), |((), sent)| sent);
                seat.check(&sent)?;
                return Ok(sent);
            }
        }
        Ok(Vec::new())
    }
}

/// Shows packets of two sources to an agent, each sent to the other's port.
fn begin_call(seat: &mut Seat, now: Instant) -> Result<Vec<(Side, Packet)>, TestCaseError> {
    for number in 0..80 {
        for from in [Side::Core, Side::Radio] {
            let (source, destination) = match from {
                Side::Core => (KEY.source, KEY.destination),
                Side::Radio => (KEY.destination, KEY.source),
            };
            let header = Rtp { marker: false, payload_type: 0, sequence: number, timestamp: 0, ssrc: 1 };
            let udp = Udp { source_port: source.1, destination_port: destination.1 };
            let payload = Payload::Bytes(Bytes::copy_from_slice(&header.octets()));
            let mut packet = Packet::new(Ip::new(source.0, destination.0), Transport::Udp(udp), payload);
            let verdict = seat.call(now, |agent, cx| agent.on_packet(&mut packet, from, cx));
            prop_assert!(
                verdict.is_none_or(|(verdict, sent)| verdict == Verdict::Forward && sent.is_empty())
            );
        }
    }
    Ok(Vec::new())
}

proptest! {
    #![proptest_config(super::cases(128))]

    #[test]
    fn an_agent_without_obligations_can_be_killed_at_any_moment(
        scene in drawn::scene(1),
        after in drawn::moment(),
    ) {
        let kill = Doing { seat: 0, after, waits: true, deed: Deed::Kill };
        let mut world = World::new(&drawn::with(scene, [kill]));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn after_a_killed_agent_no_closed_stream_lacks_octets(
        scene in drawn::scene(1),
        after in drawn::moment(),
    ) {
        let kill = Doing { seat: 0, after, waits: false, deed: Deed::Kill };
        let mut world = World::new(&drawn::with(scene, [kill]));
        let outcome = world.run()?;
        if !world.is_harmed {
            world.check_all_is_well(outcome)?;
        }
    }

    #[test]
    fn a_connection_that_moves_to_other_agents_ends_normally(
        scene in drawn::scene(1),
        after in prop::collection::vec((drawn::moment(), drawn::rest_after()), 1..9),
    ) {
        let doing = |(after, millis)| Doing { seat: 0, after, waits: false, deed: Deed::Move(millis) };
        let moves = after.into_iter().map(doing);
        let mut world = World::new(&drawn::with(scene, moves));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn an_agent_without_new_obligations_leaves_everything_intact(
        scene in drawn::scene(1),
        changes in prop::collection::vec((drawn::moment(), any::<bool>()), 1..5),
    ) {
        let doing = |(after, may_owe)| Doing { seat: 0, after, waits: false, deed: Deed::MayOwe(may_owe) };
        let mut world = World::new(&drawn::with(scene, changes.into_iter().map(doing)));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn a_budget_that_shrinks_leaves_everything_intact(
        scene in drawn::scene(1),
        changes in prop::collection::vec((drawn::moment(), 8_000usize..100_000), 1..4),
    ) {
        let doing = |(after, octets)| Doing { seat: 0, after, waits: false, deed: Deed::Budget(octets) };
        let mut world = World::new(&drawn::with(scene, changes.into_iter().map(doing)));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn draining_leaves_everything_intact(
        scene in drawn::scene(1),
        after in prop::collection::vec(drawn::moment(), 1..9),
    ) {
        let drains = after.into_iter().map(|after| Doing { seat: 0, after, waits: false, deed: Deed::Drain });
        let mut world = World::new(&drawn::with(scene, drains));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn calls_that_begin_and_end_leave_everything_intact(
        scene in drawn::scene(2),
        begin in prop::collection::vec((0..2_usize, drawn::moment()), 1..5),
    ) {
        let doing = |(seat, after)| Doing { seat, after, waits: false, deed: Deed::Call };
        let mut world = World::new(&drawn::with(scene, begin.into_iter().map(doing)));
        let outcome = world.run()?;
        world.check_all_is_well(outcome)?;
    }

    #[test]
    fn all_events_together_yield_no_wrong_octet(
        scene in drawn::scene(2),
        deeds in prop::collection::vec(drawn::doing(2), 1..8),
    ) {
        let mut world = World::new(&drawn::with(scene, deeds));
        let outcome = world.run()?;
        if !world.is_harmed {
            world.check_all_is_well(outcome)?;
        }
    }
}
