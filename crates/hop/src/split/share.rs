//! One connection's share of the window over the hop.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};
use lasthop_tcp::{Connection, State};

use super::late_acks::LateAcks;
use crate::last_hop::{LastHop, Pace, Progress, Targets};

/// The counts of a leg over the hop so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    in_network: u64,
    delivered: u64,
    lost: u64,
    pace: Pace,
    late_acks: LateAcks,
    /// The connection waits for its turn to send more.
    pub(super) is_waiting: bool,
}

impl Share {
    /// How many more octets may be sent over the hop while others wait.
    pub(super) fn allowance(&self, hop: &LastHop) -> u64 {
        self.pace.allowance(self.in_network, hop)
    }

    /// How many more octets may be sent over the hop although others have left no room.
    pub(super) fn reserved(&self, hop: &LastHop, targets: &Targets) -> u64 {
        self.pace.reserved(self.in_network, hop, targets)
    }

    /// Updates the hop's account with what a leg has there now. Returns what was delivered and lost
    /// since the last call.
    pub(super) fn update(&mut self, leg: &Connection, hop: &mut LastHop, now: Instant) -> Progress {
        self.count(leg, hop);
        let queue = leg.queue();
        let (delivered, lost) = (queue.delivered(), queue.lost_in_all());
        let has_come = delivered > self.delivered;
        let mut progress = Progress {
            delivered: delivered - self.delivered,
            lost: lost - self.lost,
            sent: queue.delivery().last_sent.filter(|_| has_come),
            late: Duration::ZERO,
        };
        if let Some(timestamp) = leg.peer_timestamp().filter(|_| has_come) {
            let (segment, upload) = (leg.flight().mss, hop.has_upload());
            progress.late = self.late_acks.on_ack(Seq(timestamp), &progress, segment, upload, now);
        }
        self.pace.on_progress(&progress, hop, now);
        (self.delivered, self.lost) = (delivered, lost);
        progress
    }

    /// Updates the hop's account.
    pub(super) fn count(&mut self, leg: &Connection, hop: &mut LastHop) {
        // Data for a host that has fallen silent takes no room from other hosts, and data sent to
        // an end that is gone takes none at all.
        let is_silent = hop.is_shared() && leg.is_unanswered();
        let in_network =
            if is_silent || leg.state() == State::Closed { 0 } else { u64::from(leg.queue().in_network()) };
        hop.change_in_flight(self.in_network, in_network);
        self.in_network = in_network;
    }

    /// Resets the account: the connection has nothing on any hop.
    pub(super) const fn forget(&mut self) {
        self.in_network = 0;
    }

    /// Removes the connection from the hop's account. Returns whether it was the last one.
    pub(super) fn leave(&mut self, hop: &mut LastHop) -> bool {
        hop.leave(std::mem::take(&mut self.in_network))
    }
}
