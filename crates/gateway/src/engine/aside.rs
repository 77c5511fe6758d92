//! Stepping aside: connections that no agent can improve.

use std::time::Duration;

use lasthop_agent::Slot;
use lasthop_packet::{FlowKey, Instant};

use super::{Engine, Outgoing};
use crate::connection::{Aside, Draining, TrackedConnection};

/// The maximum time for which packets that were diverted before their connection was set aside may
/// still arrive.
const IN_TRANSIT: Duration = Duration::from_secs(1);

impl Engine {
    /// Sets a connection aside; the key may have either direction. `false` if the connection is
    /// unknown.
    pub fn set_aside(&mut self, flow: FlowKey, now: Instant, out: &mut Outgoing) -> bool {
        let slot = self.connections.find(flow).or_else(|| self.connections.find(flow.reversed()));
        let Some(slot) = slot else { return false };
        self.leave(slot, Draining::Aside(Aside::Asked), now, out);
        true
    }

    /// Checks whether a connection that was just used is to be set aside or restored.
    pub(super) fn watch(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        if self.is_passive {
            return;
        }
        let connection = self.connections.at_mut(slot);
        if let Some(draining) = connection.draining {
            self.leave(slot, draining, now, out);
            return;
        }
        match connection.aside {
            None if self.stepping_aside.is_one_way(connection, now) => {
                self.leave(slot, Draining::Aside(Aside::OneWay), now, out);
            }
            None if self.stepping_aside.is_unresponsive(connection) => {
                self.leave(slot, Draining::Aside(Aside::Unresponsive), now, out);
            }
            // The other direction was seen after all.
            Some(Aside::OneWay) if connection.is_two_way() => connection.aside = None,
            // The kernel's table was full and dropped the entry, or this backend cannot set
            // connections aside.
            Some(_) if now.since(connection.aside_requested) >= IN_TRANSIT => {
                connection.aside_requested = now;
                out.set_aside.push(self.connections.key(slot));
            }
            _ => {}
        }
    }

    /// Sets aside the connections for which an agent has no use.
    pub(super) fn set_unused_aside(&mut self, now: Instant, out: &mut Outgoing) {
        while let Some(key) = self.outbox.left_alone.pop() {
            if let Some(slot) = self.connections.find(key)
                && self.connections.at(slot).aside.is_none()
            {
                self.leave(slot, Draining::Aside(Aside::NoUse), now, out);
            }
        }
    }

    /// Has the kernel divert a connection again that was set aside because its agent had no use for
    /// it: the engine forgets it and the next connection between its ports may be a different one,
    /// or another agent may have a use for it.
    pub(super) fn restore(&mut self, slot: Slot, out: &mut Outgoing) {
        let connection = self.connections.at_mut(slot);
        if connection.aside == Some(Aside::NoUse) {
            connection.aside = None;
            let key = self.connections.key(slot);
            // Restored connections are processed first, which would not undo this entry.
            out.set_aside.retain(|aside| *aside != key);
            out.diverted_again.push(key);
        }
    }

    /// Sets a connection aside after its agent has released it: no agent sees it any more.
    pub(super) fn step_aside(&mut self, slot: Slot, why: Aside, now: Instant, out: &mut Outgoing) {
        let connection = self.connections.at_mut(slot);
        (connection.aside, connection.aside_requested) = (Some(why), now);
        match why {
            Aside::OneWay => self.counters.counts.aside_one_way += 1,
            Aside::Unresponsive => self.counters.counts.aside_unresponsive += 1,
            Aside::NoUse => self.counters.counts.aside_no_use += 1,
            Aside::Asked => self.counters.counts.aside_asked += 1,
        }
        out.set_aside.push(self.connections.key(slot));
    }
}

impl super::SteppingAside {
    fn is_one_way(&self, connection: &TrackedConnection, now: Instant) -> bool {
        let packets = connection.from_core.packets + connection.from_radio.packets;
        !connection.is_two_way()
            && !connection.may_be_one_way()
            && packets >= self.one_way_packets
            && now.since(connection.opened) >= self.one_way_time
    }

    fn is_unresponsive(&self, connection: &TrackedConnection) -> bool {
        self.unresponsive_losses.is_some_and(|losses| connection.reaction.points() >= losses)
    }
}
