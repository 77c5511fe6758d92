//! Stepping aside: connections that no agent does any good to.

use std::time::Duration;

use lasthop_agent::Slot;
use lasthop_packet::{FlowKey, Instant};

use super::{Engine, Outgoing};
use crate::connection::{Aside, Draining, TrackedConnection};

/// After this time no packet that was diverted before its connection was set aside is still on its
/// way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

impl Engine {
    /// Sets a connection aside, named from either of its ends. `false` if there is none.
    pub fn set_aside(&mut self, flow: FlowKey, now: Instant, out: &mut Outgoing) -> bool {
        let slot = self.connections.find(flow).or_else(|| self.connections.find(flow.reversed()));
        let Some(slot) = slot else { return false };
        self.leave(slot, Draining::Aside(Aside::Asked), now, out);
        true
    }

    /// Looks whether a connection that was just used is one to set aside, or one to take back.
    pub(super) fn watch(&mut self, slot: Slot, now: Instant, out: &mut Outgoing) {
        if self.is_passive {
            return;
        }
        let connection = self.connections.at_mut(slot);
        if let Some(leaving) = connection.leaving {
            self.leave(slot, leaving, now, out);
            return;
        }
        match connection.aside {
            None if self.stepping_aside.is_one_way(connection, now) => {
                self.leave(slot, Draining::Aside(Aside::OneWay), now, out);
            }
            None if self.stepping_aside.is_unresponsive(connection) => {
                self.leave(slot, Draining::Aside(Aside::Unresponsive), now, out);
            }
            // The other direction has come after all.
            Some(Aside::OneWay) if connection.is_two_way() => connection.aside = None,
            // The kernel has forgotten it for want of room, or this backend leaves none alone.
            Some(_) if now.since(connection.told_aside) >= ON_ITS_WAY => {
                connection.told_aside = now;
                out.set_aside.push(self.connections.key(slot));
            }
            _ => {}
        }
    }

    /// Sets those connections aside that an agent has no use for.
    pub(super) fn leave_alone(&mut self, now: Instant, out: &mut Outgoing) {
        while let Some(key) = self.outbox.left_alone.pop() {
            if let Some(slot) = self.connections.find(key)
                && self.connections.at(slot).aside.is_none()
            {
                self.leave(slot, Draining::Aside(Aside::NoUse), now, out);
            }
        }
    }

    /// A connection that an agent had no use for comes here again: it has been forgotten, and what
    /// takes its ports next may be another; or another agent may have a use for it.
    pub(super) fn take_back(&mut self, slot: Slot, out: &mut Outgoing) {
        let connection = self.connections.at_mut(slot);
        if connection.aside == Some(Aside::NoUse) {
            connection.aside = None;
            let key = self.connections.key(slot);
            // What is taken back is done first, and would not undo this.
            out.set_aside.retain(|aside| *aside != key);
            out.taken_back.push(key);
        }
    }

    /// No agent sees a connection from now on. Its own has let go of it.
    pub(super) fn step_aside(&mut self, slot: Slot, why: Aside, now: Instant, out: &mut Outgoing) {
        let connection = self.connections.at_mut(slot);
        (connection.aside, connection.told_aside) = (Some(why), now);
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
