//! What one connection has of the window over the hop that it shares with others.

use lasthop_tcp::{Connection, State};

use crate::last_hop::{LastHop, Progress};

/// What was counted of a leg over the hop so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    in_network: u64,
    delivered: u64,
    lost: u64,
    /// It waits for its turn to send more.
    pub(super) is_waiting: bool,
}

impl Share {
    /// Brings the hop's account up to date with what a leg has there now. Returns what has got
    /// through and got lost since the last call.
    pub(super) fn settle(&mut self, leg: &Connection, hop: &mut LastHop) -> Progress {
        self.count(leg, hop);
        let queue = leg.queue();
        let (delivered, lost) = (queue.delivered(), queue.lost_in_all());
        let progress = Progress {
            delivered: delivered - self.delivered,
            lost: lost - self.lost,
            sent: queue.delivery().last_sent.filter(|_| delivered > self.delivered),
        };
        *self = Self { delivered, lost, ..*self };
        progress
    }

    /// Brings the hop's account up to date.
    pub(super) fn count(&mut self, leg: &Connection, hop: &mut LastHop) {
        // What goes to a host that has fallen silent takes no room of other hosts', and what was sent to
        // an end that is gone takes none at all.
        let is_silent = hop.is_shared() && leg.is_unanswered();
        let in_network =
            if is_silent || leg.state() == State::Closed { 0 } else { u64::from(leg.queue().in_network()) };
        hop.in_flight = hop.in_flight - self.in_network + in_network;
        self.in_network = in_network;
    }

    /// It has nothing of any hop.
    pub(super) const fn forget(&mut self) {
        self.in_network = 0;
    }

    /// Takes everything of it off the hop's account.
    pub(super) fn leave(&mut self, hop: &mut LastHop) {
        hop.in_flight -= self.in_network;
        self.in_network = 0;
    }
}
