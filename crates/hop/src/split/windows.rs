//! Which connections share a window over the hop.
//!
//! The connections of one mobile host share a window, because they share its hop. While
//! delay-sensitive traffic goes there, the connections of all hosts do: they share the queue in
//! which it waits. Windows of many hosts would fill that queue, however small each of them is.

use std::net::IpAddr;

use lasthop_agent::{Slab, Slot};
use lasthop_packet::{FlowKey, Instant};

use super::pair::Pair;
use crate::last_hop::LastHop;

/// The connections that share a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum WindowScope {
    /// The connections of one host.
    Host(IpAddr),
    /// The connections of all hosts.
    All,
}

/// The windows over the hop.
#[derive(Debug, Default)]
pub(super) struct Windows {
    hops: Slab<LastHop, (), 1, WindowScope>,
    /// The slot of the last request, which is usually that of the next one, too.
    last_found: Option<Slot>,
    all_share: bool,
    /// Octets of memory of the windows, in addition to their places in the table.
    memory: usize,
}

impl Windows {
    /// An empty table. There will be one window for each host, or one for all hosts.
    pub(super) fn new(all_share: bool) -> Self {
        Self { hops: Slab::new(), last_found: None, all_share, memory: 0 }
    }

    /// Octets of allocated memory.
    pub(super) const fn octets(&self) -> usize {
        self.hops.octets() + self.memory
    }

    /// Octets of memory of one more window.
    pub(super) fn octets_of_one() -> usize {
        Slab::<LastHop, (), 1, WindowScope>::octets_per_entry() + LastHop::min_memory()
    }

    /// Updates the account of memory of the connections that wait for a window.
    pub(super) fn charge(&mut self, sharers: WindowScope) {
        if let Some(hop) = self.find(sharers).and_then(|slot| self.hops.get_mut(slot)) {
            hop.update_memory(&mut self.memory);
        }
    }

    /// Whether all connections share one window.
    pub(super) const fn all_share(&self) -> bool {
        self.all_share
    }

    /// The connections that share a window with this one.
    pub(super) const fn sharers(&self, connection: FlowKey) -> WindowScope {
        if self.all_share { WindowScope::All } else { WindowScope::Host(connection.destination.0) }
    }

    /// The window of a connection.
    pub(super) fn of(&self, connection: FlowKey) -> Option<&LastHop> {
        self.hops.get(self.find(self.sharers(connection))?)
    }

    /// The window of a connection, mutably.
    pub(super) fn of_mut(&mut self, connection: FlowKey) -> Option<&mut LastHop> {
        self.shared_by(self.sharers(connection))
    }

    /// The window of these connections.
    pub(super) fn shared_by(&mut self, sharers: WindowScope) -> Option<&mut LastHop> {
        let slot = self.find(sharers)?;
        self.last_found = Some(slot);
        self.hops.get_mut(slot)
    }

    fn find(&self, sharers: WindowScope) -> Option<Slot> {
        self.last_found.filter(|slot| self.hops.has(*slot, sharers)).or_else(|| self.hops.find(sharers))
    }

    /// Adds a connection. A table that has to grow for it takes no more than `room` octets of
    /// memory, in addition to those of one more window.
    pub(super) fn join(&mut self, connection: FlowKey, room: usize, now: Instant) -> Option<&mut LastHop> {
        let sharers = self.sharers(connection);
        let slot = self.find(sharers).unwrap_or_else(|| {
            let mut hop = match sharers {
                WindowScope::Host(_) => LastHop::new(now),
                WindowScope::All => LastHop::shared(now),
            };
            hop.update_memory(&mut self.memory);
            let limit = self.hops.max_within(usize::MAX, room.saturating_sub(hop.memory()));
            self.hops.make_room(limit.max(self.hops.len() + 1));
            self.hops.insert(sharers, hop, (), now)
        });
        let hop = self.hops.get_mut(slot)?;
        hop.join();
        Some(hop)
    }

    /// Removes a connection. The window is removed with the last one.
    pub(super) fn leave(&mut self, connection: FlowKey, pair: &mut Pair) {
        let sharers = self.sharers(connection);
        let Some(slot) = self.find(sharers) else { return };
        let (Some(hop), Some(share)) = (self.hops.get_mut(slot), &mut pair.share) else { return };
        if share.is_waiting {
            hop.turns.leave(connection);
            hop.update_memory(&mut self.memory);
        }
        if share.leave(hop) {
            self.memory -= hop.memory();
            self.hops.remove(slot);
            self.hops.release_memory();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_of_a_host_share_a_window_or_those_of_all_hosts() {
        let connection =
            |host: u8, port| FlowKey::tcp(([192, 0, 2, 1].into(), 80), ([10, 0, 0, host].into(), port));
        for (all_share, expected) in [(false, [2, 2, 1]), (true, [3, 3, 3])] {
            let mut windows = Windows::new(all_share);
            let connections = [connection(1, 1), connection(1, 2), connection(2, 1)];
            for connection in connections {
                windows.join(connection, 0, Instant::ZERO);
            }
            let flows = connections.map(|connection| windows.of(connection).expect("it has joined").flows());
            assert_eq!(flows, expected);
        }
    }
}
