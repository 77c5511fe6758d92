//! The invariants of a world, and the text of a failure.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet};
use proptest::prelude::*;

use super::super::end::End;
use super::{Outcome, World};

/// Linux's maximum, and a little more.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(130);

impl World {
    /// Whether the two ends may disagree on the sent and acknowledged data: then each of them may
    /// answer all packets of the other indefinitely.
    pub(super) fn may_stall(&self) -> bool {
        self.is_harmed || self.ends.iter().any(|end| end.is_reset)
    }

    /// Checks that no timestamp in an end's name is ahead of the latest that it has really sent.
    pub(super) fn check_timestamp(&self, packet: &Packet, to: Side) -> Result<(), TestCaseError> {
        let speaker = &self.ends[usize::from(to == Side::Core)];
        let value = packet.tcp().and_then(|tcp| tcp.options.timestamps).map(|timestamps| timestamps.value);
        if let Some((value, real)) = value.zip(speaker.tsval) {
            let ahead = value.wrapping_sub(real).cast_signed();
            prop_assert!(ahead <= 0, "a timestamp {ahead} ms ahead of {real}: {packet:?}");
        }
        Ok(())
    }

    /// Checks that an agent with obligations has a deadline, at the latest after the maximum
    /// time-out.
    pub(super) fn check_timers(&self) -> Result<(), TestCaseError> {
        for seat in self.seats.iter().filter(|seat| seat.owed().octets > 0 && seat.away_until.is_none()) {
            let is_soon = seat.deadline().is_some_and(|deadline| deadline.at <= self.now + LONGEST_TIMEOUT);
            prop_assert!(is_soon, "no timer runs, and {:?}", seat.owed());
        }
        Ok(())
    }

    /// Checks that an end whose FIN was acknowledged has had all its data delivered.
    pub(super) fn check_streams(&self) -> Result<(), TestCaseError> {
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let (sender, receiver) = (&self.ends[sender], &self.ends[receiver]);
            let has_all = receiver.connection.next_expected() == sender.connection.flight().una;
            prop_assert!(
                !sender.takes_all_for_delivered() || has_all,
                "end {} takes for delivered what is not",
                sender.number
            );
        }
        Ok(())
    }

    /// Checks that all data has arrived, and both ends know it.
    pub fn check_all_is_well(&self, outcome: Outcome) -> Result<(), TestCaseError> {
        prop_assert_eq!(outcome, Outcome::Over, "it does not end\n{}", self.describe());
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let (sender, receiver) = (&self.ends[sender], &self.ends[receiver]);
            let (sent, unread) = (sender.application.plan.octets, receiver.connection.unread());
            let received = receiver.application.received + u64::from(unread);
            prop_assert_eq!(received, sent, "{}", self.describe());
            prop_assert!(receiver.connection.peer_has_closed(), "{}", self.describe());
            prop_assert!(sender.connection.unacknowledged() == 0, "{}", self.describe());
        }
        Ok(())
    }

    pub fn describe(&self) -> String {
        let agents = self.seats.iter().map(|seat| format!("{:?} {:?}", seat.owed(), seat.deadline()));
        let ends = self.ends.iter().map(End::describe);
        let packets = self.trail.iter().map(|(at, node, to, packet)| line(*at, *node, *to, packet));
        format!("at {}\n{}", self.now, ends.chain(agents).chain(packets).collect::<Vec<_>>().join("\n"))
    }
}

/// A packet in a line.
fn line(at: Instant, node: usize, to: Side, packet: &Packet) -> String {
    let Some(tcp) = packet.tcp() else { return format!("{at} {node}") };
    let flags = [(1, 'F'), (2, 'S'), (4, 'R'), (16, 'A')];
    let flags: String =
        flags.iter().filter(|(bit, _)| tcp.flags.0 & bit > 0).map(|(_, letter)| *letter).collect();
    let arrow = if to == Side::Radio { "->" } else { "<-" };
    let stamps = tcp.options.timestamps.map(|stamps| (stamps.value, stamps.echo_reply));
    let blocks = tcp.options.sack.as_slice();
    let (seq, len, ack, window) = (tcp.seq, packet.payload().len(), tcp.ack, tcp.window);
    format!("{at} {node} {arrow} {flags} {seq}+{len} ack {ack} win {window} ts {stamps:?} sack {blocks:?}")
}
